"""The store that is asked: the amplified demo of one day, with events, and days of requests behind it.

It is made once for what its rows and its tables are, and kept in .made. Its days are over: each is one part. The days
before yesterday can be put aside, as parts that the engine knows and does not read, and back.
"""

import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

from quiclens_ingest.link import link
from quiclens_schema import store as stores
from quiclens_schema.store import Store

from quiclens_lab.ask_bench.amplified import amplify
from quiclens_lab.errors import LabError
from quiclens_lab.filled_store import filled_store
from quiclens_lab.link_bench.days import SOURCES, fill
from quiclens_lab.machine import LAB
from quiclens_lab.progress import say
from quiclens_lab.resting import rest
from quiclens_lab.scenario_plans import WALL_START_US

MADE = LAB.parent / ".made" / "ask-bench"
_DEMO = [sys.executable, "-m", "quiclens_command_line", "demo"]
TODAY = datetime.fromtimestamp(WALL_START_US / 1e6, UTC).date()
"""The day of the demo."""
YESTERDAY = TODAY - timedelta(days=1)


def made(requests: int, events: int, days: int, a_day: int) -> Path:
    """A store of so many requests and events today, and of so many days with so many requests each before it."""
    mine = (Path(__file__), Path(__file__).with_name("amplified.py"), LAB / "quiclens_lab" / "demo.py")

    def make(place: Path) -> None:
        url = f"chdb:{place / 'store'}"
        command = [*_DEMO, "--dir", str(place / "demo"), "--store", url]
        demo = subprocess.run(command, stdout=subprocess.DEVNULL, check=False)
        if demo.returncode:
            raise LabError(f"quiclens demo ended with {demo.returncode}")
        with stores.open(url) as store:
            amplify(store, requests, events, say)
            rest(store, say)
            say("linking what was amplified")
            link(store, [TODAY])
            fill(store, TODAY, days, a_day)
            settle(store)

    return filled_store(MADE, f"{requests}-{events}-{days}x{a_day}", (*mine, *SOURCES), make)


def settle(store: Store) -> None:
    """Make each day of a table one part, as the engine does by itself an hour after a day's last row
    (`min_age_to_force_merge_seconds` in schema/clickhouse)."""
    merged_by_age = (
        "SELECT name FROM system.tables WHERE database = currentDatabase()"
        " AND create_table_query LIKE '%min_age_to_force_merge_seconds%'"
    )
    for table, day in _partitions(store, f"system.parts WHERE active AND table IN ({merged_by_age})"):
        say(f"{table}: making {day} one part")
        store.command(f"OPTIMIZE TABLE {table} PARTITION '{day}' FINAL")


def put_aside(store: Store) -> None:
    """Leave today and yesterday."""
    for table, day in _partitions(store, "system.parts WHERE active"):
        if day < str(YESTERDAY):
            store.command(f"ALTER TABLE {table} DETACH PARTITION '{day}'")


def put_back(store: Store) -> None:
    """Have all days again, also those that a run left aside that was stopped."""
    for table, day in _partitions(store, "system.detached_parts WHERE reason = ''"):
        store.command(f"ALTER TABLE {table} ATTACH PARTITION '{day}'")


def _partitions(store: Store, where: str) -> list[tuple[str, str]]:
    sql = (
        f"SELECT DISTINCT table, partition_id FROM {where} AND database = currentDatabase()"
        " AND length(partition_id) = 8 ORDER BY table, partition_id"
    )
    return [(str(table), f"{day[:4]}-{day[4:6]}-{day[6:]}") for table, day in store.query(sql).rows]
