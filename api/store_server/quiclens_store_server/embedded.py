"""The process that holds an embedded store: its sockets, its walls, and ingest beside it."""

import logging
import os
from collections.abc import Callable, Sequence
from contextlib import closing, nullcontext
from dataclasses import replace
from pathlib import Path
from socket import socket

from quiclens_ingest.beside import Beside
from quiclens_ingest.link import link
from quiclens_ingest.settings import IngestSettings
from quiclens_schema import migrate as migrations

from quiclens_questions.opening import opened
from quiclens_store_server.app import create_app
from quiclens_store_server.confinement import NotConfined, confine, temporary_folder
from quiclens_web.app import Front
from quiclens_web.front.serving import Listening, bind, owners_socket, run
from quiclens_web.front.settings import ServeSettings

_log = logging.getLogger("quiclens.serve")


def serve_embedded(
    store: str,
    settings: ServeSettings,
    host: str,
    port: int,
    listening: Callable[[socket, Front], Listening],
    ready: Callable[[str, str], None],
    taking: IngestSettings | None,
    tell: Callable[[str], None],
) -> None:
    """Hold the store's folder, confined to it, and answer until told to stop; with `taking`, ingest runs beside.

    `ready` is told the URL and the folder, `tell` of dropped rows. CannotRun and StoreError where the store or the
    address is another's.
    """
    folder = Path(os.path.realpath(store.removeprefix("chdb:").removeprefix("//")))
    with (
        bind(host, port) as bound,
        owners_socket(folder) as own,
        temporary_folder() as temporary,
        closing(Beside(taking)) if taking else nullcontext() as beside,
    ):
        confined = _confined(folder, temporary, [Path(own.getsockname()).parent])
        with opened(f"chdb:{folder}", create=True, alone=True) as data:
            if migrations.migrate(data):
                link(data)  # a migration may have given `requests` columns that only linking fills
            front = create_app(data, replace(settings, folder=folder), tell, [beside.unwell] if beside else [])

            def started(url: str) -> None:
                data.announce(url, settings.instance, Path(own.getsockname()), confined)
                if beside:
                    beside.begin(folder, Path(own.getsockname()))
                ready(url, str(folder))

            ending = beside.close if beside else lambda: None
            run(front, listening(bound, front), settings, started, own, ending)


def _confined(folder: Path, temporary: Path, removable: Sequence[Path]) -> int:
    """Confine this process; 0, and a word in the log, where this machine cannot."""
    try:
        return confine(folder, temporary, removable)
    except NotConfined as reason:
        _log.warning("the engine is not confined to the store's folder: %s", reason)
        return 0
