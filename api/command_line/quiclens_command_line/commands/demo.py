"""quiclens demo"""

import os
import shutil
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer
from quiclens_schema.store import Store
from rich.console import RenderableType
from rich.text import Text

from quiclens_command_line.commands.options import AsJson
from quiclens_command_line.demo import DemoPlaces, clear, simulate, slowest_by, what_is_worse, worth_explaining
from quiclens_command_line.loading import load_into
from quiclens_command_line.output import print_document, print_human, say
from quiclens_command_line.show.explain import explain_view
from quiclens_command_line.show.load import load_view
from quiclens_command_line.show.slow import slow_view
from quiclens_command_line.show.triage import triage_view
from quiclens_questions import collector
from quiclens_questions.documents import TriageDocument
from quiclens_questions.explain import explain
from quiclens_questions.export import ExportRequest, chosen, export
from quiclens_questions.failure import DONE, NOTHING_FOUND
from quiclens_questions.opening import opened
from quiclens_questions.triage_words import who
from quiclens_questions.units import size

_EVENTS_SHOWN = 12


def demo(
    folder: Annotated[Path, typer.Option("--dir", metavar="DIR", help="Where the demo keeps its files.")] = Path(
        "quiclens-demo"
    ),
    connections: Annotated[int, typer.Option("--connections", min=1, metavar="N", help="How much traffic.")] = 400,
    seed: Annotated[int, typer.Option("--seed", metavar="N", help="Another seed, other traffic.")] = 1,
    store_url: Annotated[
        str, typer.Option("--store", metavar="URL", help="Load into this store instead of a new one under DIR.")
    ] = "",
    as_json: AsJson = False,
) -> int:
    """Show everything on simulated traffic: six carriers, real QUIC stacks, and an incident; about half a minute.

    Makes its own store under ./quiclens-demo, new each time.

    Examples:

    \b
    quiclens demo
    quiclens demo --dir /tmp/quiclens-demo --connections 50
    """
    # Not from QUICLENS_STORE: simulated traffic has no place among real requests unless somebody says so here.
    places, began = DemoPlaces(folder, store_url), time.monotonic()
    collector.find()
    clear(places)
    say(f"simulating {connections} connections …")
    steps: dict[str, Any] = {"simulate": simulate(places, connections, seed)}
    with opened(places.store_url, create=True) as store:
        steps["load"] = load_into(store, places.logs, [places.access_log])
        _show(as_json, "1. Loaded", load_view(steps["load"]))
        worse = what_is_worse(store)
        steps["triage"] = worse
        if worse is not None:
            _show(as_json, "2. quiclens triage", triage_view(worse))
        for number, column in ((3, "carrier"), (4, "region")):
            steps[f"slow_by_{column}"] = slowest_by(store, column)
            view = slow_view(steps[f"slow_by_{column}"], column, "Slowest request")
            _show(as_json, f"{number}. quiclens slow --by {column} --limit 1", view)
        worth = worth_explaining(store, worse)
        if worth is None:
            say("nothing was traced, so there is nothing to explain")
            steps |= {"explain": None, "export": None}
        else:
            found = explain(store, worth["request_id"])
            steps["explain"] = found.document
            _show(as_json, f"5. quiclens explain {worth['request_id']}", explain_view(found, _EVENTS_SHOWN))
            steps["export"] = _export(store, worth["connection_id"], folder / "slow.sqlog")
            _show(as_json, "6. Exported for qvis", _exported(steps["export"]))
    if as_json:
        seconds = round(time.monotonic() - began, 3)
        print_document({"folder": str(folder), "store": places.store_url, "steps": steps, "seconds": seconds})
    else:
        print_human(*_next(places, worse, worth, time.monotonic() - began))
    return DONE if worth is not None else NOTHING_FOUND


def _export(store: Store, connection_id: str, file: Path) -> dict[str, Any] | None:
    wanted = ExportRequest(connection_id, "sqlog", "for-qvis", file)
    trace = chosen(store, wanted)
    return None if trace is None else export(store, wanted, trace, sys.stdout.buffer)


def _show(as_json: bool, title: str, view: Iterator[RenderableType]) -> None:
    if not as_json:
        print_human(Text(f"\n── {title}", style="bold cyan"), Text(), *view)


def _exported(written: dict[str, Any] | None) -> Iterator[RenderableType]:
    if written is not None:
        yield Text(f"{written['file']}: {written['events']:,} events, {size(written['bytes'])}; open it in qvis")


def _next(
    places: DemoPlaces, worse: TriageDocument | None, worth: Mapping[str, Any] | None, seconds: float
) -> Iterator[RenderableType]:
    quiclens, store = _called(), f"--store {places.store_url}"
    yield Text("\n── What to try next", style="bold cyan")
    yield Text("\nin a browser, everything that follows and more:", style="dim")
    yield Text(f"  {quiclens} serve {store}     then http://127.0.0.1:8123/")
    if worse is not None and worse["findings"]:
        finding = worse["findings"][0]
        yield Text(
            f"  it opens with what you were woken for: {who(finding['conditions'])}, since {finding['since']:%H:%M}",
            style="dim",
        )
    if worth is not None:
        yield Text(
            f"  and http://127.0.0.1:8123/requests/{worth['request_id']} says why one of them was slow", style="dim"
        )
    yield Text(f"\nmore of this demo ({seconds:.0f} s so far):", style="dim")
    yield Text(f"  {quiclens} triage {store}")
    yield Text(f"  {quiclens} slow --by top_cause --limit 2 {store}")
    yield Text(f"  {quiclens} report tail --by carrier {store}")
    yield Text(f"  {quiclens} report tail --without loss_recovery {store}")
    yield Text(f"  {quiclens} report rtt --by carrier {store}")
    yield Text(f"  {quiclens} report rtt --of requests --by protocol {store}")
    yield Text(f"  {quiclens} report loss {store}")
    yield Text(f"  {quiclens} report compare {store}     an A/A test: no difference is there to be found")
    yield Text(f"  {quiclens} report misrouted {store}     also restarts, races, closes, handshake, goodput")
    if worth is not None:
        yield Text(f"  {quiclens} explain {worth['request_id']} --events 100 {store}")
    yield Text("\nyour own logs:", style="dim")
    yield Text(f"  {quiclens} check /var/log/quic/one-connection.sqlog     what your log can show, what to switch on")
    yield Text(f"  {quiclens} load /var/log/quic --requests access.jsonl")
    yield Text(f"  {quiclens} slow --since 2h --by carrier")


def _called() -> str:
    """The command as whoever ran this can type it."""
    path = Path(sys.argv[0])
    if path.name != "quiclens" or shutil.which("quiclens"):
        return "quiclens"
    return os.path.relpath(path)
