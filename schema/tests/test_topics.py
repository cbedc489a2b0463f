from pathlib import Path

import pytest
from quiclens_schema import catalogue, topics
from quiclens_schema.catalogue import CatalogueError

GOOD = """
value = "rows"
table = "events"
key = "none"
producer = "a"
consumer = "b"
partitions = 1
retention_hours = 1
message_bytes_max = 1000
"""


def test_every_table_has_a_topic_but_those_that_link_makes() -> None:
    tables = catalogue.load().tables
    made = {name for name, table in tables.items() if table.is_linked}
    assert "requests" in made and set(topics.of_tables()) == set(tables) - made
    assert topics.of_tables()["rejects"].name == topics.REJECTS


def test_raw_lines_are_no_rows() -> None:
    assert topics.load()["quic.raw.v1"].table == ""


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("events", "nowhere"), "no table nowhere"),
        (("partitions", "partition"), "unknown keys: partition"),
        (("key =", "# key ="), "lacks key"),
        (("retention_hours = 1", "retention_hours = 0"), "retention_hours cannot be 0"),
        (("partitions = 1", 'partitions = "1"'), "partitions cannot be '1'"),
    ],
)
def test_a_topic_that_contradicts_the_catalogue_is_an_error(tmp_path: Path, change: tuple[str, str], said: str) -> None:
    (tmp_path / "a.v1.toml").write_text(GOOD.replace(*change))
    with pytest.raises(CatalogueError, match=said):
        topics.read(tmp_path, catalogue.load())


def test_a_table_has_one_topic(tmp_path: Path) -> None:
    (tmp_path / "a.v1.toml").write_text(GOOD)
    (tmp_path / "b.v1.toml").write_text(GOOD)
    with pytest.raises(CatalogueError, match=r"two topics, a\.v1 and b\.v1"):
        topics.read(tmp_path, catalogue.load())
