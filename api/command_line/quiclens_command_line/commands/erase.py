"""quiclens erase"""

import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import typer
from quiclens_schema.migrate import migrate
from quiclens_schema.store import DEFAULT_URL

from quiclens_command_line.commands.options import AsJson, StoreUrl, WhereTexts
from quiclens_command_line.output import answer, say
from quiclens_command_line.state_folder import Held, held_in
from quiclens_questions import where as conditions
from quiclens_questions.failure import DONE, NOTHING_FOUND, usage
from quiclens_questions.opening import opened
from quiclens_store_server.erase import Erasure, ErasureChoice
from quiclens_store_server.erase import erase as erase_from

Clients = Annotated[
    list[str] | None,
    typer.Option("--client", metavar="NETWORK|KEY", help="A client's address or network, its client_key or user_hash."),
]
States = Annotated[
    list[Path] | None,
    typer.Option("--state", metavar="DIR", help="state_dir of a collector on this machine: what of it is still there."),
]


def erase(
    connections: Annotated[
        list[str] | None, typer.Argument(metavar="[CONNECTION_ID…]", help="Connections, by any of their IDs.")
    ] = None,
    client: Clients = None,
    where: WhereTexts = None,
    state: States = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only say how many rows of each table it would be.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask whether to go on.")] = False,
    store: StoreUrl = DEFAULT_URL,
    as_json: AsJson = False,
) -> int:
    """Erase connections for good: their traces, rejects, requests and the lines of access logs that go with them.

    Chosen by id, by client or by conditions on requests, which must all hold; one is enough to be erased. Whole
    connections go. What was erased stays so: keyed hashes of its ids remain, and rows of it that come again, by load,
    from Kafka or by upload, are dropped and counted. The key is a file, made on first use: in the folder of an
    embedded store, else where QUICLENS_ERASE_KEY_FILE says, for all who write to the store.

    Not touched are logs and backups, messages in Kafka's topics (retention.ms of the topic) and the spool, outbox and
    checkpoints of collectors, which empty themselves: --state says of one on this machine what it still holds; on each
    other machine run `quiclens erase … --dry-run --state DIR` for it. A client's rows that had not arrived are not
    known: erase again when they have.

    Examples:

    \b
    quiclens erase 4a1f9bd2c3e0 --dry-run
    quiclens erase --client 203.0.113.0/24 --yes
    quiclens erase --where user_hash=5f1c --where 'started_at<=2026-11-01' --state /var/lib/quiclens
    """
    chosen = ErasureChoice(tuple(connections or ()), tuple(client or ()), tuple(where or ()), is_trial=True)
    if not (chosen.connections or chosen.clients or chosen.where):
        raise usage("nothing is chosen", "name a connection, --client or --where")
    conditions.read(chosen.where, datetime.now(UTC))
    with opened(store) as data:
        migrate(data)
        found = erase_from(data, chosen, datetime.now(UTC))
        if not dry_run:
            _confirm(found, yes, as_json)
            found = erase_from(data, ErasureChoice(chosen.connections, chosen.clients, chosen.where), datetime.now(UTC))
    held = [held_in(folder) for folder in state or ()]
    answer(as_json, _document(found, held, dry_run), *_lines(found, held, dry_run))
    return DONE if any(found.rows.values()) else NOTHING_FOUND


def _confirm(found: Erasure, yes: bool, as_json: bool) -> None:
    if yes:
        return
    if as_json or not sys.stdin.isatty():
        raise usage("it is not said whether to go on", "--yes erases, --dry-run only counts")
    for line in _counted(found):
        say(line)
    typer.confirm("Erase this for good?", abort=True, err=True)


def _counted(found: Erasure) -> list[str]:
    lines = [f"{table}: {rows:,} rows" for table, rows in found.rows.items() if rows]
    return [f"{found.connections:,} connections, {found.lines:,} lines of access logs", *lines]


def _lines(found: Erasure, held: list[Held], dry_run: bool) -> list[str]:
    told = [("would erase " if dry_run else "erased ") + _counted(found)[0], *_counted(found)[1:]]
    told += [each.told() for each in held]
    return told


def _document(found: Erasure, held: list[Held], dry_run: bool) -> dict[str, Any]:
    return {
        "erased": not dry_run,
        "connections": found.connections,
        "lines": found.lines,
        "rows": dict(found.rows),
        "state": [each.document() for each in held],
    }
