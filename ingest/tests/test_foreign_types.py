"""A message with a column of a type that pyarrow has no arrays of, which a fuzz target found: a reason, no KeyError."""

from pathlib import Path

import pytest
from quiclens_ingest.message import MessageLimits, Unreadable, read


def test_a_column_of_an_unknown_type_is_a_wrong_schema() -> None:
    value = (Path(__file__).parent / "interval_of_months.arrow").read_bytes()
    limits = MessageLimits(message_bytes=1 << 20, decompressed_bytes=16 << 20)
    with pytest.raises(Unreadable) as said:
        read("episodes", {"table": b"episodes", "rows": b"1"}, value, limits)
    assert said.value.reason == "wrong_schema"
