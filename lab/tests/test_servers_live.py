"""Real servers write logs that a collector follows live: aioquic (records that grow, and its own documents), quic-go,
quiche and quinn behind a lossy relay.

All of them run at once, followed by one collector into one store; afterwards each stack is judged by what its log can
show and what its access log can say.
"""

import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from quiclens_schema import store as stores
from quiclens_schema.catalogue import CAUSES

from quiclens_lab.machine import collector_binary
from quiclens_lab.servers import OLD_QUIC_GO, PROGRAMS, missing

BIN = Path(sys.executable).parent
CONNECTIONS = 10
REQUESTS = 5
PATIENCE_S = 600
LOSS, DELAY_MS, RATE_KBPS = 0.03, 10, 8000

ALL = frozenset(CAUSES) - {"unattributed"}
CLIENTS = frozenset({"remote_wait", "receiving", "receiver_hol", "stream_limit"})
"""Causes of a client's trace, which no server's can show, and a limit of streams, which none of these states."""

CANNOT_SHOW: dict[str, frozenset[str]] = {
    "aioquic": CLIENTS,
    "aioquic-documents": CLIENTS,
    "quic-go": CLIENTS,
    "quiche": CLIENTS,
    "quinn": ALL,
    **{f"quic-go-{version}": CLIENTS for version in OLD_QUIC_GO},
}
LINKED_BY = {"aioquic": "id", "aioquic-documents": "id", "quic-go": "id", "quiche": "alias", "quinn": "none"}
LINKED_BY |= {f"quic-go-{version}": "id" for version in OLD_QUIC_GO}
# quic-go 0.56 to 0.58 never close the file of a connection that spoke HTTP/3, and the end of it stays in their buffer.
NO_END = {"quic-go-v0.57.0"}
HAS_STREAMS = [name for name in PROGRAMS if CANNOT_SHOW[name] != ALL]

pytestmark = pytest.mark.skipif(not collector_binary().is_file(), reason="the collector is not built")


@dataclass(frozen=True)
class Server:
    """What one server left behind, on disk and in the store."""

    done: dict[str, Any]
    events_in_files: dict[str, int]
    events_while_it_ran: int
    asked_us: dict[str, int]
    connections: list[dict[str, Any]]
    seqs: dict[str, list[int]]
    streams: list[dict[str, Any]]
    requests: list[dict[str, Any]]


@contextmanager
def running(words: list[str | Path], log: Path) -> Iterator["subprocess.Popen[str]"]:
    """A process that is ended with the block; what it says on standard error goes to `log`."""
    with log.open("ab") as errors:
        process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=errors, text=True)
    try:
        yield process
    finally:
        process.terminate()
        process.communicate(timeout=30)


def quiclens(*words: str) -> None:
    done = subprocess.run([BIN / "quiclens", *words, "--json"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def rows(store: str, sql: str) -> list[dict[str, Any]]:
    with stores.open(store) as opened:
        return opened.query(sql).dicts()


def until(true: Callable[[], bool], why: Callable[[], str]) -> None:
    began = time.monotonic()
    while not true():
        assert time.monotonic() - began < PATIENCE_S, why()
        time.sleep(0.3)


def in_files(folder: Path) -> dict[str, int]:
    """Events in each trace: of a document, or of records, the first of which is the header."""
    return {path.name: _events_of(path.read_bytes()) for path in (folder / "traces").iterdir()}


def _events_of(log: bytes) -> int:
    try:
        document = json.loads(log)
    except json.JSONDecodeError:
        return log.count(b"\n") - 1
    return sum(len(trace["events"]) for trace in document["traces"])


def in_store(store: str, folder: Path) -> dict[str, list[int]]:
    """The seqs of each trace, by its file's name."""
    found = rows(
        store,
        "SELECT traces.source_file AS file, groupArray(events.seq) AS seqs FROM events_now AS events "
        "INNER JOIN connections_now AS traces ON traces.trace_id = events.trace_id "
        f"WHERE startsWith(traces.source_file, '{folder}/') GROUP BY file",
    )
    return {Path(row["file"]).name: sorted(row["seqs"]) for row in found}


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Server]:
    """Run every server that is built, with its clients, and wait until the store has what the files have."""
    base = tmp_path_factory.mktemp("servers")
    folders = {name: base / name for name in PROGRAMS if missing(name) is None}
    for folder in folders.values():
        (folder / "traces").mkdir(parents=True)
        (folder / "access.jsonl").touch()
    store = f"chdb:{base / 'store'}"
    with ExitStack() as system:
        words: list[str | Path] = [BIN / "quiclens", "serve", "--store", store, "--listen", "127.0.0.1:0", "--json"]
        serve = system.enter_context(running(words, base / "serve.log"))
        assert serve.stdout is not None
        url = json.loads(serve.stdout.readline())["url"]
        quiclens("migrate", "--store", store)
        config = base / "run.toml"
        config.write_text(
            f'state_dir = "{base / "state"}"\n'
            f"traces = {json.dumps([str(folder / 'traces') for folder in folders.values()])}\n"
            f"batch_interval_ms = 200\nidle_timeout_s = 3\ncpu_cap = 0\n"
            + "".join(f'[[access_log]]\npath = "{folder / "access.jsonl"}"\n' for folder in folders.values())
            + f'[sink]\nkind = "quiclens"\nurl = "{url}"\n'
        )
        system.enter_context(running([collector_binary(), "run", config], base / "collector.log"))
        lives = {name: system.enter_context(_live(name, folder, base)) for name, folder in folders.items()}
        seen: dict[str, int] = {}

        def have_all_been_seen() -> bool:
            for name, folder in folders.items():
                assert lives[name].poll() is None, (base / f"{name}.log").read_text()
                seen[name] = sum(len(seqs) for seqs in in_store(store, folder).values())
            return all(seen.values()) and all(asked(folder) for folder in folders.values())

        until(have_all_been_seen, lambda: f"{seen}, {[name for name in folders if not asked(folders[name])]}")
        for live in lives.values():
            live.terminate()
        for live in lives.values():
            live.wait()
        for name, folder in folders.items():
            assert lives[name].returncode == 0, (base / f"{name}.log").read_text()
            wanted = in_files(folder)
            until(
                lambda folder=folder, wanted=wanted: (  # type: ignore[misc]
                    {file: len(seqs) for file, seqs in in_store(store, folder).items()} == wanted
                ),
                lambda folder=folder, wanted=wanted: f"{wanted} != {in_store(store, folder)}",  # type: ignore[misc]
            )
        lines = sum((folder / "access.jsonl").read_bytes().count(b"\n") for folder in folders.values())
        until(lambda: rows(store, "SELECT count() AS n FROM request_lines FINAL")[0]["n"] == lines, lambda: "lines")
        without_end = len(NO_END & folders.keys()) * CONNECTIONS
        until(
            lambda: rows(store, "SELECT countIf(NOT complete) AS n FROM connections_now")[0]["n"] == without_end,
            lambda: "a connection is not over, or said to be",
        )
        quiclens("link", "--store", store)
        return {name: _server(store, folder, lives[name], seen[name]) for name, folder in folders.items()}


def asked(folder: Path) -> bool:
    """Whether its clients have had all of their answers."""
    told = folder / "client.jsonl"
    return told.exists() and told.read_bytes().count(b"\n") == CONNECTIONS * REQUESTS


def _live(name: str, folder: Path, base: Path) -> Any:
    words: list[str | Path] = [BIN / "quiclens-lab", "live", "--server", name, "--out", folder, "--stay"]
    words += ["--connections", str(CONNECTIONS), "--requests", str(REQUESTS), "--together", "2"]
    words += ["--loss", str(LOSS), "--delay-ms", str(DELAY_MS), "--rate-kbps", str(RATE_KBPS)]
    return running(words, base / f"{name}.log")


def _server(store: str, folder: Path, live: "subprocess.Popen[str]", seen: int) -> Server:
    assert live.stdout is not None
    answers = [json.loads(line) for line in (folder / "client.jsonl").read_text().splitlines()]
    of_folder = f"SELECT trace_id FROM connections_now WHERE startsWith(source_file, '{folder}/')"
    served = {json.loads(line)["server"] for line in (folder / "access.jsonl").read_text().splitlines()}
    assert len(served) == 1
    return Server(
        done=json.loads(live.stdout.read()),
        events_in_files=in_files(folder),
        events_while_it_ran=seen,
        asked_us={each["external_id"]: each["duration_us"] for each in answers},
        connections=rows(store, f"SELECT * FROM connections_now WHERE trace_id IN ({of_folder})"),
        seqs=in_store(store, folder),
        streams=rows(store, f"SELECT * FROM streams_now WHERE trace_id IN ({of_folder})"),
        requests=rows(store, f"SELECT * FROM requests WHERE server = '{served.pop()}'"),
    )


@pytest.fixture(params=list(PROGRAMS))
def name(request: pytest.FixtureRequest) -> str:
    found: str = request.param
    if reason := missing(found):
        pytest.skip(reason)
    return found


@pytest.fixture(params=HAS_STREAMS)
def name_with_streams(request: pytest.FixtureRequest) -> str:
    """The others' logs have no streams; see the test of what they cannot show."""
    found: str = request.param
    if reason := missing(found):
        pytest.skip(reason)
    return found


def test_every_record_is_stored_once_and_while_the_server_writes(name: str, servers: dict[str, Server]) -> None:
    server = servers[name]
    assert len(server.connections) == len(server.events_in_files) == server.done["connections"] == CONNECTIONS
    assert server.seqs == {file: list(range(count)) for file, count in server.events_in_files.items()}
    assert server.events_while_it_ran > 0


def test_every_request_has_its_stream_and_its_parts_add_up(name_with_streams: str, servers: dict[str, Server]) -> None:
    name = name_with_streams
    streams = servers[name].streams
    assert len(streams) == CONNECTIONS * REQUESTS
    for stream in streams:
        parts = sum(stream[f"{cause}_us"] for cause in CAUSES)
        assert parts == stream["duration_us"] == stream["end_us"] - stream["start_us"]
    # Of a log without its end, the last answers may be in what is missing.
    incomplete = {stream["connection_id"] for stream in streams if not stream["complete"]}
    assert not incomplete or name in NO_END, incomplete
    said = {each["connection_id"] for each in servers[name].connections if not each["complete"]}
    assert len(said) == (CONNECTIONS if name in NO_END else 0)


def test_access_lines_find_their_streams(name: str, servers: dict[str, Server]) -> None:
    requests = servers[name].requests
    assert {each["external_id"] for each in requests} == set(servers[name].asked_us)
    by = [each["link"] for each in requests]
    assert by.count(LINKED_BY[name]) >= 0.999 * CONNECTIONS * REQUESTS, by


def test_the_client_waited_about_as_long_as_the_trace_says(name_with_streams: str, servers: dict[str, Server]) -> None:
    server = servers[name_with_streams]
    ratios = [each["duration_us"] / server.asked_us[each["external_id"]] for each in server.requests]
    # A server's clock ends with the last byte's acknowledgement, the client's with the byte; both have a round trip.
    assert 0.8 < statistics.median(ratios) < 1.3, sorted(ratios)
    late = [each for each in server.requests if each["logged_duration_us"] > server.asked_us[each["external_id"]]]
    assert not late, "the application handed its answer over after the client had it"


def test_losses_on_the_path_are_seen(name: str, servers: dict[str, Server]) -> None:
    server = servers[name]
    lost = sum(each["packets_lost"] for each in server.connections)
    assert server.done["lost"] > 0
    # Not every lost packet is seen by the server: its client's are lost too, and acknowledgements need no repair.
    assert 0 < lost <= server.done["forwarded"]


def test_what_a_log_cannot_show_is_said_and_not_invented(name: str, servers: dict[str, Server]) -> None:
    server = servers[name]
    for connection in server.connections:
        assert frozenset(connection["cannot_show"]) == CANNOT_SHOW[name]
    if CANNOT_SHOW[name] == ALL:
        assert server.streams == []
        assert {each["source"] for each in server.requests} == {"log"}
        assert {each["coverage"] for each in server.requests} == {"none"}
        assert {each["top_cause"] for each in server.requests} == {None}
    for stream in server.streams:
        assert frozenset(stream["cannot_show"]) == CANNOT_SHOW[name]
        assert all(stream[f"{cause}_us"] == 0 for cause in CANNOT_SHOW[name])
