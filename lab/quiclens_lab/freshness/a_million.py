"""What a million events become: bytes on each topic, and rows and bytes in each table."""

from pathlib import Path
from typing import Any

from quiclens_lab.freshness.watching import asked

_TABLES = """SELECT table, sum(rows), sum(bytes_on_disk) FROM system.parts
WHERE active AND database = currentDatabase() GROUP BY table ORDER BY table FORMAT JSONCompact"""
_MILLION = 1_000_000


def a_million(broker: Path, url: str, events: int) -> dict[str, Any]:
    """Of a broker with one replica whose data are in `broker`, and of the store behind `url`, which both have `events`
    events and what belongs to them: `topics` in bytes as they lie on the broker's disk, `tables` in rows and bytes."""
    topics: dict[str, int] = {}
    for segment in broker.rglob("*-[0-9]*/*.log"):
        topic = segment.parent.name.rpartition("-")[0]
        if not topic.startswith("__"):  # Kafka's own
            topics[topic] = topics.get(topic, 0) + segment.stat().st_size

    def share(of_all: int) -> int:
        return round(of_all * _MILLION / events)

    return {
        "topics": {name: share(size) for name, size in sorted(topics.items())},
        "tables": {
            name: {"rows": share(int(rows)), "bytes": share(int(size))} for name, rows, size in asked(url, _TABLES)
        },
    }
