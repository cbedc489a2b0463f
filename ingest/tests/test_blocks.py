from typing import Any

import pyarrow as pa
import pytest
from quiclens_ingest.blocks import BlockLimits, Source, TakenMessage, next_block
from quiclens_ingest.settings import IngestSettings, SettingsError
from quiclens_ingest.settings import read as read_settings

SOURCE = Source("cluster", "quic.events.v1", "events")
LIMITS = BlockLimits(rows=10, bytes=1000, age_seconds=1.0)


def taken(partition: int, offset: int, rows: int = 1, size: int = 1, at: float = 0.0) -> TakenMessage:
    return TakenMessage(partition, offset, at, b"", size, batch=pa.record_batch({"seq": pa.array([0] * rows)}))


def test_a_block_is_closed_by_rows_bytes_or_age_and_by_nothing_else() -> None:
    few = [taken(0, 0, rows=4, size=10), taken(0, 1, rows=4, size=10)]
    assert next_block(SOURCE, few, LIMITS, now=0.5) is None
    assert next_block(SOURCE, few, LIMITS, now=1.0) is not None
    assert next_block(SOURCE, [*few, taken(0, 2, rows=2)], LIMITS, now=0.5) is not None
    assert next_block(SOURCE, [*few, taken(0, 2, size=980)], LIMITS, now=0.5) is not None
    assert next_block(SOURCE, few, LIMITS, now=0.5, is_hurried=True) is not None
    assert next_block(SOURCE, [], LIMITS, now=9, is_hurried=True) is None


def test_a_block_remembers_its_range_in_every_partition_and_leaves_what_does_not_fit() -> None:
    pending = [taken(0, 7), taken(2, 40, rows=3), taken(0, 9), taken(1, 5, rows=9), taken(0, 10)]
    block = next_block(SOURCE, pending, LIMITS, now=0.0)
    assert block is not None
    assert block.ranges == {0: (7, 9), 2: (40, 40)}
    assert (block.rows, len(block.taken)) == (5, 3)
    again = next_block(SOURCE, pending, LIMITS, now=5.0)
    assert again is not None
    assert again.ranges == block.ranges


def test_a_message_larger_than_a_block_is_a_block() -> None:
    block = next_block(SOURCE, [taken(0, 0, rows=99, size=5000), taken(0, 1)], LIMITS, now=0.0)
    assert block is not None
    assert block.ranges == {0: (0, 0)}


def test_settings_come_from_the_file_and_the_command_line_comes_first(tmp_path: Any) -> None:
    file = tmp_path / "ingest.toml"
    file.write_text('brokers = "a:1"\nlink_seconds = 2\n[kafka]\n"security.protocol" = "SSL"\n')
    settings = read_settings(file, {"brokers": "b:2"})
    assert (settings.brokers, settings.link_seconds, settings.kafka) == ("b:2", 2.0, {"security.protocol": "SSL"})
    assert settings.document()["kafka"] == ["security.protocol"]
    assert read_settings(None, {}) == IngestSettings()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("blok_rows = 1", "unknown settings: blok_rows; there are brokers"),
        ("block_rows = 0", "block_rows is at least 1"),
        ('block_rows = "1"', "block_rows cannot be '1'"),
        ("block_rows = true", "block_rows cannot be True"),
        ("block_rows =", "cannot read"),
    ],
)
def test_a_setting_that_cannot_be_is_an_error(tmp_path: Any, text: str, said: str) -> None:
    file = tmp_path / "ingest.toml"
    file.write_text(text)
    with pytest.raises(SettingsError, match=said):
        read_settings(file, {})
