"""ngtcp2's example server, from Debian's own package, behind a lossy path: its logs followed live."""

import asyncio
import re
import shlex
import statistics
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from quiclens_lab import ngtcp2
from quiclens_lab.logging_cost.load import LARGE, SMALL, Load, Loaded, ids
from quiclens_lab.logging_cost.load import ask as ask_for_files
from quiclens_lab.ports import free_port, hears_udp
from quiclens_lab.relay import Conditions, Passed
from quiclens_schema import store as stores
from quiclens_schema.catalogue import CAUSES
from serve_process import start, until
from stock_servers import COLLECTOR, ask_behind, make_certificate, needs_collector, of_the_clients_time, running

PAGE = Path(__file__).parents[2] / "deploy" / "docs" / "servers" / "ngtcp2.md"
LOAD = Load(connections=20, requests=5, together=2, share=1)
REQUESTS = LOAD.connections * LOAD.requests
PATH = Conditions(loss=0.03, delay_ms=10, rate_kbps=8000)
PATIENCE_S = 600
OF_A_CLIENT = {"remote_wait", "receiving", "receiver_hol"}
SEQS = """
SELECT c.source_file AS file, groupArray(e.seq) AS seqs FROM events_now AS e
INNER JOIN connections_now AS c ON c.trace_id = e.trace_id GROUP BY file"""
CONNECTIONS = """
SELECT connection_id, stack, complete, packets_lost FROM connections_now LIMIT 10000"""
STREAMS = """
SELECT connection_id, stream_id, duration_us, cannot_show, {parts} FROM streams_now LIMIT 10000"""
REQUESTS_OF_IT = "SELECT source, link FROM requests LIMIT 10000"

pytestmark = [needs_collector, pytest.mark.skipif(ngtcp2.missing() is not None, reason=ngtcp2.missing() or "")]


@dataclass(frozen=True)
class Followed:
    """What the clients saw, what stands in the logs, and what is stored."""

    loaded: Loaded
    passed: Passed
    records: dict[str, int]
    seqs: dict[str, list[int]]
    while_it_ran: int
    connections: list[dict[str, Any]]
    streams: list[dict[str, Any]]
    requests: list[dict[str, Any]]
    rejects: list[tuple[object, ...]]


@pytest.fixture(scope="module")
def followed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Followed]:
    folder = tmp_path_factory.mktemp("ngtcp2")
    traces, said = folder / "server" / "traces", folder / "collector.log"
    traces.mkdir(parents=True)
    with ExitStack() as ending:
        serve = start(folder / "store")
        ending.callback(serve.stop)
        config = folder / "collector.toml"
        config.write_text(
            f'state_dir = "{folder}/state"\ntraces = ["{traces}"]\nbatch_interval_ms = 200\nidle_timeout_s = 10\n'
            f'cpu_cap = 0\n[sink]\nkind = "quiclens"\nurl = "{serve.url}"\n'
        )
        ending.enter_context(running([COLLECTOR, "run", config], said))
        store = ending.enter_context(stores.open(serve.store_url))

        def seqs() -> dict[str, list[int]]:
            return {Path(row["file"]).name: sorted(row["seqs"]) for row in store.query(SEQS).dicts()}

        with ngtcp2.serving(folder / "server", True, (SMALL, LARGE)) as server:
            loaded, passed = asyncio.run(ask_behind(server.port, PATH, LOAD))
            assert until(lambda: bool(seqs()), PATIENCE_S), said.read_text()
            while_it_ran = sum(map(len, seqs().values()))
        records = {path.name: path.read_bytes().count(b"\n") - 1 for path in traces.iterdir()}
        assert until(lambda: {name: len(found) for name, found in seqs().items()} == records, PATIENCE_S), (
            said.read_text()
        )
        whole = "SELECT countIf(complete) FROM connections_now"
        assert until(lambda: store.query(whole).one() == (LOAD.connections,), PATIENCE_S), said.read_text()
        assert until(lambda: store.query("SELECT count() FROM requests").one() == (REQUESTS,), PATIENCE_S), (
            said.read_text()
        )
        parts = ", ".join(f"{cause}_us" for cause in CAUSES)
        yield Followed(
            loaded,
            passed,
            records,
            seqs(),
            while_it_ran,
            store.query(CONNECTIONS).dicts(),
            store.query(STREAMS.format(parts=parts)).dicts(),
            store.query(REQUESTS_OF_IT).dicts(),
            store.query("SELECT reason, bytes FROM rejects LIMIT 10").rows,
        )


def test_every_record_is_stored_once_and_while_the_server_writes(followed: Followed) -> None:
    assert len(followed.records) == LOAD.connections
    # Its file ends in half a record while its buffer has the rest; after ten silent seconds that is told, and the rest
    # is stored when it comes.
    assert {reason for reason, _ in followed.rejects} <= {"truncated"}
    assert followed.seqs == {name: list(range(count)) for name, count in followed.records.items()}
    assert followed.while_it_ran > 0


def test_a_trace_is_called_by_the_id_that_its_client_chose(followed: Followed) -> None:
    assert {each["connection_id"] for each in followed.connections} == {each.hex() for each in ids(LOAD)}
    assert {each["stack"] for each in followed.connections} == {"ngtcp2"}
    assert {bool(each["complete"]) for each in followed.connections} == {True}


def test_each_request_has_its_stream_and_its_parts_add_up(followed: Followed) -> None:
    wanted = {(each.hex(), 4 * number) for each in ids(LOAD) for number in range(LOAD.requests)}
    assert {(each["connection_id"], each["stream_id"]) for each in followed.streams} == wanted
    assert len(followed.streams) == len(followed.requests) == REQUESTS
    for stream in followed.streams:
        assert sum(stream[f"{cause}_us"] for cause in CAUSES) == stream["duration_us"], stream
        assert set(stream["cannot_show"]) >= OF_A_CLIENT


def test_the_client_waited_about_as_long_as_the_trace_says(followed: Followed) -> None:
    ratios = of_the_clients_time(followed.streams, followed.loaded, LOAD)
    assert 0.8 < statistics.median(ratios) < 1.3, sorted(ratios)


def test_losses_on_the_path_are_seen(followed: Followed) -> None:
    lost = sum(each["packets_lost"] for each in followed.connections)
    assert followed.passed.lost > 0 and 0 < lost <= followed.passed.forwarded


def test_nobody_says_when_or_what_was_asked(followed: Followed) -> None:
    assert {each["source"] for each in followed.requests} == {"stream"}
    assert {each["link"] for each in followed.requests} == {"none"}


def test_the_pages_command_writes_a_log_for_each_connection(tmp_path: Path) -> None:
    make_certificate(tmp_path)
    traces, port = tmp_path / "traces", free_port()
    traces.mkdir()
    (line,) = re.findall(r"^gtlsserver --.+$", PAGE.read_text(), re.MULTILINE)
    of_page = {"/var/log/quic/traces": str(traces), " 4433 ": f" {port} "}
    of_page |= {"server.key": f"{tmp_path}/key.pem", "server.crt": f"{tmp_path}/chain.pem"}
    for shown, used in of_page.items():
        assert shown in line
        line = line.replace(shown, used)
    _, *words = shlex.split(line)
    said = tmp_path / "said.log"
    with running([ngtcp2.SERVER, *words], said, **ngtcp2.environment()):
        assert until(lambda: hears_udp(port), PATIENCE_S), said.read_text()
        asyncio.run(ask_for_files(port, Load(connections=2, requests=1, together=1, share=1)))
        assert until(lambda: len(list(traces.iterdir())) == 2, PATIENCE_S), said.read_text()
    assert all(re.fullmatch(r"[0-9a-f]+\.sqlog", path.name) for path in traces.iterdir())
