"""Do requests find their streams? Clients with a Retry, other ids, another address or 0-RTT, linked and compared.

The collector reads traces and access log as `run` does, once with the ids in the log and once without: then a request
is found by its client's key, time, method and path, or not at all. With `foreign_rows` the lines are rows of somebody
else's table, too, among so many that have no trace. The truth is each line's external id.
"""

import json
import os
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from quiclens_lab.access_log import Line, lines_of, write_access_log
from quiclens_lab.aioquic_pair import simulate
from quiclens_lab.draws import fraction, skewed, weighted, whole
from quiclens_lab.errors import LabError
from quiclens_lab.machine import collector_binary, judged
from quiclens_lab.plan import ConnectionPlan, RequestPlan, Turn
from quiclens_lab.roaming import Roaming
from quiclens_lab.scenario_plans import HERE, path
from quiclens_lab.traces import write_traces

if TYPE_CHECKING:
    from quiclens_schema.store import Store

WALL_START_US = 1_795_168_800_000_000
TURNS = 6
AT_ONCE_MAX = 8
TWICE = 0.02  # of turns have one path asked for twice at the same moment: a client that polls, or tries again
PATIENCE_S = 120
ID_BAR, TUPLE_BAR = 0.999, 0.99
ROW = "SELECT external_id, connection_id, stream_id, link FROM requests WHERE log_id IS NOT NULL"

SECRET = "the secret of the lab's deployment"
MAPPING = {
    "table": "http_log",
    "time": "at",
    "key": ["id"],
    "format": {
        "time_is": "start",
        "columns": {
            "time": {"from": "at"},
            "duration_us": {"from": "took_ms", "unit": "ms"},
            "external_id": {"from": "id"},
            "connection_id": {"from": "quic"},
            "stream_id": {"from": "stream"},
            "method": {"from": "verb"},
            "path": {"from": "url"},
            "protocol": {"from": "proto"},
            "client_address": {"from": "peer.ip"},
            "client_port": {"from": "peer.port"},
        },
    },
}
_TABLE = """
CREATE TABLE http_log (
    at DateTime64(6, 'Asia/Tokyo'), took_ms Float64, id String, quic Nullable(String), stream Nullable(UInt64),
    verb LowCardinality(String), url String, proto LowCardinality(String), peer Map(String, String)
) ENGINE = MergeTree ORDER BY at"""
_OTHERS = """
INSERT INTO http_log
SELECT fromUnixTimestamp64Micro({first:Int64} + toInt64(number) * 97 % 60000000), number % 900 / 7,
    concat('other-', toString(number)), if(number % 3 = 1, lower(hex(sipHash64(number))), NULL),
    if(number % 3 = 1, number % 40 * 4, NULL), 'GET', concat('/page/', toString(number % 6), '/', toString(number % 8)),
    if(number % 3 = 0, 'h2', 'h3'),
    map('ip', concat('198.51.100.', toString(1 + number % 5)), 'port', toString(1024 + number % 15000))
FROM numbers({rows:UInt64})"""

Truth = dict[str, tuple[str, int]]


def plans(connections: int, seed: int) -> list[ConnectionPlan]:
    """Connections of many clients behind few addresses, one server."""
    return [_plan(seed * 1_000_003 + number, number) for number in range(connections)]


def _plan(seed: int, number: int) -> ConnectionPlan:
    kinds = [(0.2, "plain"), (0.2, "retry"), (0.2, "new ids"), (0.2, "moves"), (0.2, "zero rtt")]
    kind = weighted(kinds, seed, "kind")
    # A few addresses, each of many clients: the port tells them apart.
    address = (f"198.51.100.{1 + number % 5}", 20_000 + number)
    change = whole(1, TURNS - 1, seed, "turn of the change")
    roaming = Roaming(
        address=address,
        is_retried=kind == "retry",
        new_ids_before_turn=change if kind == "new ids" else None,
        moves_before_turn=change if kind == "moves" else None,
        moved_to=(f"203.0.113.{1 + number % 7}", 40_000 + number),
    )
    return ConnectionPlan(
        seed=seed,
        wall_start_us=WALL_START_US + number * 40_000,
        authority="www.lab.example",
        path=path(seed),
        dimensions=replace(HERE, client_network="198.51.100.0/24"),
        turns=tuple(_turn(seed, turn) for turn in range(TURNS)),
        is_resumed=kind == "zero rtt",
        roaming=roaming,
    )


def _turn(seed: int, turn: int) -> Turn:
    """A page's requests, made at one moment; now and then one of them twice."""
    requests = [
        RequestPlan(
            f"/page/{turn}/{item}",
            int(skewed(300, 20_000, seed, "size", turn, item)),
            think_us=int(skewed(300, 60_000, seed, "think", turn, item)),
        )
        for item in range(whole(1, AT_ONCE_MAX, seed, "at once", turn))
    ]
    if fraction(seed, "twice", turn) < TWICE:
        requests.append(requests[0])
    return Turn(tuple(requests), gap_us=whole(5_000, 80_000, seed, "gap", turn))


def link_check(
    connections: int, seed: int, progress: Callable[[int, int], None], foreign_rows: int = 0, keep: bool = False
) -> dict[str, Any]:
    """Make the traffic, have it read and linked with ids and without, and say how many found their stream; `passes`
    where enough of them did, and none another's."""
    with tempfile.TemporaryDirectory(prefix="quiclens-link-") as scratch:
        folder = Path(scratch)
        lines: list[Line] = []
        truth: Truth = {}
        made = plans(connections, seed)
        for number, plan in enumerate(made):
            run = simulate(plan, with_client_trace=False)
            write_traces(run, folder)
            own = lines_of(run)
            lines += own
            truth |= {line["external_id"]: (run.connection_id, line["stream_id"]) for line in own}
            progress(number + 1, connections)
        with_ids = _found(folder, "ids", lines, connections)
        bare = [
            {key: value for key, value in line.items() if key not in ("connection_id", "stream_id")} for line in lines
        ]
        by_tuple = _found(folder, "tuples", bare, connections)
        figures = {"ids": figures_of(with_ids, truth), "tuples": figures_of(by_tuple, truth)}
        if foreign_rows:
            began = time.monotonic()
            out = folder / "ids"
            rows = _linked(folder / "table.store", out, lambda store: _as_table(store, folder, lines, foreign_rows))
            figures["table"] = figures_of(rows, truth) | {"seconds": round(time.monotonic() - began, 1)}
    twice = sum(
        1 for plan in made for turn in plan.turns if len({each.path for each in turn.requests}) < len(turn.requests)
    )
    passes = (
        all(figures[name]["found"] >= ID_BAR for name in ("ids", "table") if name in figures)
        and figures["tuples"]["found"] >= TUPLE_BAR
        and not any(each["wrong"] or each["missing"] for each in figures.values())
    )
    document = {
        "connections": connections,
        "seed": seed,
        "requests": len(lines),
        "moved": sum(plan.roaming is not None and plan.roaming.moves_before_turn is not None for plan in made),
        "retried": sum(plan.roaming is not None and plan.roaming.is_retried for plan in made),
        "new_ids": sum(plan.roaming is not None and plan.roaming.new_ids_before_turn is not None for plan in made),
        "zero_rtt": sum(plan.is_resumed for plan in made),
        "same_path_twice": twice,
        "foreign_rows": foreign_rows,
        **figures,
    }
    return judged("link", document, passes, keep)


def figures_of(rows: Iterable[tuple[str, str | None, int | None, str]], truth: Truth) -> dict[str, Any]:
    """How many lines were linked, in which way, and how many of those to another stream than their own."""
    links: Counter[str] = Counter()
    right = wrong = 0
    for external_id, connection_id, stream_id, link in rows:
        links[link] += external_id in truth
        if link in ("id", "alias", "tuple"):
            is_right = (connection_id, stream_id) == truth.get(external_id)
            right += is_right
            wrong += not is_right
    return {"found": right / len(truth), "wrong": wrong, "missing": len(truth) - links.total(), "links": dict(links)}


def _found(folder: Path, name: str, lines: list[Line], connections: int) -> list[tuple[Any, ...]]:
    """Rows of requests that have a line, out of a store of their own."""
    log, out = folder / f"{name}.jsonl", folder / name
    write_access_log(lines, log)
    _collect(folder, log, out, connections, len(lines))
    return _linked(folder / f"{name}.store", out)


def _collect(folder: Path, log: Path, out: Path, connections: int, lines: int) -> None:
    """Have the collector follow traces and log until it has written all of both."""
    import pyarrow.ipc

    config = out.with_suffix(".toml")
    config.write_text(
        f'state_dir = "{out.with_suffix(".state")}"\ntraces = ["{folder / "server"}"]\n'
        f'idle_timeout_s = 1\n[enrich]\nsecret_env = "QUICLENS_LAB_SECRET"\n'
        f'[[access_log]]\npath = "{log}"\n[sink]\nkind = "files"\nfolder = "{out}"\n'
    )
    environment = {**os.environ, "QUICLENS_LAB_SECRET": SECRET}
    command = [str(collector_binary()), "run", str(config)]

    def rows(table: str) -> int:
        return sum(pyarrow.ipc.open_stream(file).read_all().num_rows for file in (out / table).glob("*.arrow"))

    began = time.monotonic()
    with subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True) as process:
        try:
            while rows("connections") < connections or rows("request_lines") < lines:
                if process.poll() is not None or time.monotonic() - began > PATIENCE_S:
                    raise LabError(f"the collector did not read the traffic within {PATIENCE_S} s")
                time.sleep(0.5)
        finally:
            process.terminate()
            process.communicate()


def _linked(folder: Path, out: Path, add_lines: Callable[["Store"], None] | None = None) -> list[tuple[Any, ...]]:
    """Rows of requests of what the collector wrote; `add_lines` brings other lines than the collector's."""
    import pyarrow.ipc
    from quiclens_ingest.link import link
    from quiclens_schema import store as stores
    from quiclens_schema.migrate import migrate

    left_out = {"events", "request_lines"} if add_lines else {"events"}
    with stores.open(f"chdb:{folder}") as store:
        migrate(store)
        for file in sorted(out.glob("*/*.arrow")):
            if file.parent.name not in left_out:
                table = pyarrow.ipc.open_stream(file).read_all()
                store.insert_arrow(file.parent.name, file.read_bytes(), table.num_rows)
        if add_lines:
            add_lines(store)
        link(store)
        return [tuple(row) for row in store.query(ROW).rows]


def _as_table(store: "Store", folder: Path, lines: list[Line], rows: int) -> None:
    """The lines in a table of somebody else's, by names of its own, among `rows` in all: of HTTP/2, of connections that
    have no trace, and without ids, of the same paths in the same minutes."""
    from quiclens_ingest import mapping
    from quiclens_ingest.from_table import TableReader
    from quiclens_ingest.lines import Converter

    secret = folder / "secret"
    secret.write_text(SECRET)
    store.command(_TABLE)
    named = (
        json.dumps(
            {
                "at": line["time"],
                "took_ms": line["duration_us"] / 1000,
                "id": line["external_id"],
                "quic": line["connection_id"],
                "stream": line["stream_id"],
                "verb": line["method"],
                "url": line["path"],
                "proto": line["protocol"],
                "peer": {"ip": line["client_address"], "port": str(line["client_port"])},
            }
        )
        for line in lines
    )
    store.command(
        "INSERT INTO http_log SETTINGS date_time_input_format = 'best_effort' FORMAT JSONEachRow\n" + "\n".join(named)
    )
    store.command(_OTHERS, {"rows": rows - len(lines), "first": WALL_START_US})
    source = mapping.of(MAPPING)
    began = datetime.fromtimestamp(WALL_START_US / 1e6, UTC) - timedelta(hours=1)
    taken = TableReader(store, source, Converter(source, collector_binary(), secret)).take(began)
    if (taken.rows, taken.lines) != (rows, rows):
        raise LabError(f"of {rows} rows {taken.rows} were read, {taken.lines} became lines: {taken.rejected}")
