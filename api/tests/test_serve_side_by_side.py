"""Many clients at once, and the end of the process at the worst moment."""

import http.client
import random
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from quiclens_schema import store as stores
from serve_process import Served, start, until
from store_rows import aliases, send

from quiclens_web.front.faults import Fault
from quiclens_web.front.memory import MemoryBudget
from quiclens_web.front.settings import StatementLimits

AT_ONCE = StatementLimits().queries_at_once
RUNNING = f'running{{kind="queries"}} {AT_ONCE}'
LONG = "SELECT count() FROM numbers(100000000000) WHERE sipHash64(number) = 1"


def test_a_long_query_does_not_delay_an_insert(served: Served) -> None:
    threads = [
        threading.Thread(target=served.ask, args=(LONG,), kwargs={"query_id": f"long {n}"}) for n in range(AT_ONCE)
    ]
    for thread in threads:
        thread.start()
    assert until(lambda: RUNNING in served.ask(method="GET", path="/metrics").text)
    one = {"vantage": ["server"], "trace_id": ["1"], "role": ["source"]}
    for n in range(10):
        assert (
            send(served, "connection_aliases", aliases(alias=["quick"], connection_id=[f"{n}"], **one), 1).status == 200
        )
    # They are done while all of the long ones still run.
    assert RUNNING in served.ask(method="GET", path="/metrics").text
    for n in range(AT_ONCE):
        assert "waiting" in served.ask(f"KILL QUERY WHERE query_id = 'long {n}'").text
    for thread in threads:
        thread.join(20)
    asked = "SELECT connection_id FROM connection_aliases FINAL WHERE alias = 'quick' ORDER BY connection_id"
    assert served.one(asked).split() == [f"{n}" for n in range(10)]


def test_who_finds_no_turn_is_told_to_come_again(tmp_path: Path) -> None:
    running = start(tmp_path / "store")
    try:
        pool = ThreadPoolExecutor(10)
        long = [pool.submit(running.ask, LONG, query_id=f"long {n}") for n in range(AT_ONCE)]
        assert until(lambda: RUNNING in running.ask(method="GET", path="/metrics").text)
        got = running.ask("SELECT 1")
        assert got.status == 429 and got.headers["retry-after"] == "1" and got.code == 202
        assert running.ask(method="GET", path="/ping").status == 200
        for n in range(AT_ONCE):
            running.ask(f"KILL QUERY WHERE query_id = 'long {n}'")
        assert {each.result().code for each in long} == {394}
        assert running.one("SELECT 1") == "1"
        pool.shutdown()
    finally:
        running.stop()


def test_bodies_have_only_so_much_room() -> None:
    budget = MemoryBudget(10)
    with budget.lease() as first, budget.lease() as second:
        first.grow(6)
        with pytest.raises(Fault) as caught:
            second.grow(5)
        assert caught.value.status == 503 and caught.value.retry_after_seconds
        second.grow(4)
    assert budget.held == 0


def test_readers_and_writers_side_by_side_lose_nothing(served: Served) -> None:
    def write(writer: int) -> int:
        for n in range(30):
            data = aliases(alias=[f"many{writer}"] * 100, connection_id=[f"{n * 100 + row}" for row in range(100)],
                           vantage=["server"] * 100, trace_id=["1"] * 100, role=["source"] * 100)  # fmt: skip
            assert send(served, "connection_aliases", data, 100).status == 200
        return 3000

    of_them = "FROM connection_aliases WHERE startsWith(alias, 'many')"

    def read(_: int) -> int:
        for _ in range(30):
            count, distinct = served.one(f"SELECT count(), uniqExact(alias, connection_id) {of_them}").split("\t")
            assert count == distinct and int(count) % 100 == 0
        return 0

    with ThreadPoolExecutor(6) as pool:
        written = sum(pool.map(write, range(3))) + sum(pool.map(read, range(3)))
    assert served.one(f"SELECT count() {of_them}") == str(written)


def kept(block: int) -> bytes:
    """2,000 rows of one block, told by its number."""
    constant = {name: [value] * 2000 for name, value in (("vantage", "server"), ("trace_id", "1"), ("role", "source"))}
    return aliases(alias=[str(block)] * 2000, connection_id=[str(n) for n in range(2000)], **constant)


def test_acknowledged_rows_outlive_kill_9(tmp_path: Path) -> None:
    """Three times killed in the middle of inserts by two clients; only what was not acknowledged may be missing."""
    folder = tmp_path / "store"
    acknowledged: set[int] = set()
    sent = 0
    for turn in range(3):
        running = start(folder)
        stop = threading.Event()

        def insert(first: int, running: Served = running, stop: threading.Event = stop) -> int:
            block = first
            while not stop.is_set():
                try:
                    if send(running, "connection_aliases", kept(block), 2000).status == 200:
                        acknowledged.add(block)
                except (OSError, http.client.HTTPException):  # cut before its answer, or in it
                    return block
                block += 2
            return block

        with ThreadPoolExecutor(2) as pool:
            going = [pool.submit(insert, sent + n) for n in range(2)]
            time.sleep(0.5 + random.Random(turn).random())
            running.process.send_signal(signal.SIGKILL)
            stop.set()
            sent = max(each.result() for each in going) + 2
        running.process.communicate(timeout=10)
        assert (folder / "owner.json").exists()  # what a killed process leaves, and the next does not mind
    assert len(acknowledged) > 20
    running = start(folder)
    try:
        asked = "SELECT alias, count(), uniqExact(connection_id) FROM connection_aliases GROUP BY alias"
        found = running.one(asked).splitlines()
        stored = {
            int(block): (int(rows), int(distinct)) for block, rows, distinct in (row.split("\t") for row in found)
        }
        assert acknowledged <= stored.keys()
        assert set(stored.values()) == {(2000, 2000)}
        with stores.open(running.store_url) as store:
            assert store.query("SELECT count() FROM connection_aliases").one() == (2000 * len(stored),)
    finally:
        running.stop()
