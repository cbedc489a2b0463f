"""quiclens serve"""

import os
import secrets
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer
from quiclens_ingest.link import link
from quiclens_schema import migrate as migrations
from quiclens_schema.store import DEFAULT_URL, without_password

from quiclens_api.commands.options import AsJson, KeepEvents, KeepSummaries, MaxDisk, StoreUrl, keeping
from quiclens_api.failure import DONE, CannotRun, usage
from quiclens_api.opening import opened
from quiclens_api.output import answer, say
from quiclens_api.serve import logs
from quiclens_api.serve.app import create_pages
from quiclens_api.serve.serving import address, bind, digests, in_an_empty_folder, run
from quiclens_api.serve.serving import serve as serve_now
from quiclens_api.serve.settings import GB, MB, Limits, Settings

TOKEN_VARIABLE = "QUICLENS_SERVE_TOKEN"
READ_TOKEN_VARIABLE = "QUICLENS_SERVE_READ_TOKEN"


def serve(
    listen: Annotated[
        str, typer.Option("--listen", metavar="HOST:PORT", help="Where; another machine's reach needs a token.")
    ] = "127.0.0.1:8123",
    keep_events: KeepEvents = "7d",
    keep_summaries: KeepSummaries = "90d",
    max_disk_gb: MaxDisk = 0,
    max_seconds: Annotated[float, typer.Option(min=0.1, metavar="N", help="Longest query.")] = 300,
    max_memory_gb: Annotated[float, typer.Option(min=0.1, metavar="N", help="Most memory of one query.")] = 4,
    max_upload_mb: Annotated[int, typer.Option(min=1, metavar="N", help="Largest body, decompressed.")] = 512,
    qvis: Annotated[
        str, typer.Option("--qvis", metavar="URL", help="A qvis that pages link to and that may read exports.")
    ] = "",
    user_header: Annotated[
        str, typer.Option("--user-header", metavar="NAME", help="Header in which a trusted proxy names who asks.")
    ] = "",
    trust_proxy: Annotated[
        list[str] | None, typer.Option("--trust-proxy", metavar="ADDRESS", help="Such a proxy's address; repeatable.")
    ] = None,
    audit_log: Annotated[
        Path | None, typer.Option("--audit-log", metavar="FILE", help="Append who asked what, JSON lines.")
    ] = None,
    store: StoreUrl = DEFAULT_URL,
    as_json: AsJson = False,
) -> int:
    """Serve pages and a JSON API for people and, of an embedded store, ClickHouse's HTTP interface for everything else.

    Open the address in a browser: the overview, slow requests, and each connection drawn. Collectors, Grafana and any
    ClickHouse client use the same address.

    Runs until it is told to stop. While it runs, other quiclens commands on this machine use the store through it.
    With --store http://… the pages and the API of a ClickHouse server, in as many processes as you start; it keeps days
    and limits uploads by itself.

    Without a token only this machine is served, and every program on it may read and write. QUICLENS_SERVE_TOKEN lets
    in who may write, QUICLENS_SERVE_READ_TOKEN who may only read: as password, X-ClickHouse-Key or bearer token; each
    may be given as sha256:HEX. --trust-proxy with --user-header lets in whoever that proxy names, to read. Days count
    from the day of the traces or from their loading, whichever is later.

    [bold]Examples[/]

    \b
    quiclens serve
    quiclens serve --store chdb:/srv/quiclens --max-disk-gb 200
    QUICLENS_SERVE_TOKEN=… quiclens serve --listen 0.0.0.0:8123
    quiclens serve --store http://reader@clickhouse:8123/quiclens --listen 127.0.0.1:8124
    curl 'http://127.0.0.1:8123/?query=SELECT+count()+FROM+requests'
    """
    logs.to_stderr()
    host, port = address(listen)
    keep = keeping(keep_events, keep_summaries, max_disk_gb)
    upload = max_upload_mb * MB
    limits = Limits(
        seconds=max_seconds,
        memory_bytes=int(max_memory_gb * GB),
        upload_bytes=upload,
        uploads_bytes=max(upload * 2, GB),
    )
    if bool(user_header) != bool(trust_proxy):
        raise usage("a header is trusted from a proxy's address alone", "give both --user-header and --trust-proxy")
    tokens = (os.environ.get(TOKEN_VARIABLE, ""), os.environ.get(READ_TOKEN_VARIABLE, ""))
    writers, readers = digests(host, *tokens, has_proxy=bool(trust_proxy))
    settings = Settings(
        folder=Path(),
        instance=secrets.token_hex(8),
        writer_digests=writers,
        reader_digests=readers,
        is_open=not (writers or readers or trust_proxy),
        user_header=user_header,
        proxies=tuple(trust_proxy or ()),
        limits=limits,
        keep=keep,
        qvis=qvis,
        audit=_appending(audit_log) if audit_log else _nobody,
    )

    def ready(url: str, place: str) -> None:
        document: dict[str, Any] = {
            "store": place,
            "url": url,
            "pid": os.getpid(),
            "token_needed": not settings.is_open,
            "keep_events_days": keep.events_days,
            "keep_summaries_days": keep.summaries_days,
            "max_disk_bytes": keep.disk_bytes,
        }
        answer(as_json, document, f"serving {place}: open {url} in a browser; stop it with Ctrl-C")

    if store.startswith("chdb:"):
        _embedded(store, settings, host, port, ready)
    else:
        with bind(host, port) as bound, opened(store) as data:
            place = without_password(store)
            run(create_pages(data, settings), bound, int(limits.drain_seconds), lambda url: ready(url, place))
    say("stopped")
    return DONE


def _embedded(store: str, settings: Settings, host: str, port: int, ready: Callable[[str, str], None]) -> None:
    place = f"chdb:{os.path.realpath(store.removeprefix('chdb:').removeprefix('//'))}"
    with in_an_empty_folder(), bind(host, port) as bound, opened(place, create=True, alone=True) as data:
        assert data.folder is not None
        folder = data.folder
        if migrations.migrate(data):
            link(data)  # a migration may have given `requests` columns that only linking fills
        serve_now(data, replace(settings, folder=folder), bound, lambda url: ready(url, str(folder)), say)


def _appending(path: Path) -> Callable[[str], None]:
    """Writes lines to the end of a file that only this user can read."""
    try:
        file = os.fdopen(os.open(path.absolute(), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), "a", buffering=1)
    except OSError as error:
        raise CannotRun("cannot_write", f"cannot write {path}: {error.strerror}", "another --audit-log") from error
    return lambda line: print(line, file=file)


def _nobody(line: str) -> None:
    """Nobody keeps who asked what."""
