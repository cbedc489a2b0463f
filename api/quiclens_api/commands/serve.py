"""quiclens serve"""

import os
import secrets
from typing import Annotated, Any

import typer
from quiclens_ingest.link import link
from quiclens_schema import migrate as migrations
from quiclens_schema.store import DEFAULT_URL

from quiclens_api.commands.options import AsJson, KeepEvents, KeepSummaries, MaxDisk, StoreUrl, keeping
from quiclens_api.failure import DONE, usage
from quiclens_api.opening import opened
from quiclens_api.output import answer, say
from quiclens_api.serve.serving import address, bind, digests, in_an_empty_folder
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
    trust_sql: Annotated[
        bool, typer.Option("--trust-sql", help="Let statements use files, hosts and programs, as this user may.")
    ] = False,
    store: StoreUrl = DEFAULT_URL,
    as_json: AsJson = False,
) -> int:
    """Serve the embedded store over ClickHouse's HTTP interface, to collectors, Grafana and any ClickHouse client.

    Runs until it is told to stop. While it runs, other quiclens commands on this machine use the store through it.

    Without a token only this machine is served, and every program on it may read and write. QUICLENS_SERVE_TOKEN lets
    in who may write, QUICLENS_SERVE_READ_TOKEN who may only read: as password, X-ClickHouse-Key or bearer token; each
    may be given as sha256:HEX. Days count from the day of the traces or from their loading, whichever is later.

    [bold]Examples[/]

    \b
    quiclens serve
    quiclens serve --store chdb:/srv/quiclens --max-disk-gb 200
    QUICLENS_SERVE_TOKEN=… quiclens serve --listen 0.0.0.0:8123
    curl 'http://127.0.0.1:8123/?query=SELECT+count()+FROM+requests'
    """
    host, port = address(listen)
    keep = keeping(keep_events, keep_summaries, max_disk_gb)
    upload = max_upload_mb * MB
    limits = Limits(
        seconds=max_seconds,
        memory_bytes=int(max_memory_gb * GB),
        upload_bytes=upload,
        uploads_bytes=max(upload * 2, GB),
    )
    if not store.startswith("chdb:"):
        raise usage("only an embedded store is served", "--store chdb:DIR; a ClickHouse server serves itself")
    writers, readers = digests(host, os.environ.get(TOKEN_VARIABLE, ""), os.environ.get(READ_TOKEN_VARIABLE, ""))
    place = f"chdb:{os.path.realpath(store.removeprefix('chdb:').removeprefix('//'))}"
    with in_an_empty_folder(), bind(host, port) as bound, opened(place, create=True, alone=True) as data:
        assert data.folder is not None
        settings = Settings(
            folder=data.folder,
            instance=secrets.token_hex(8),
            writer_digests=writers,
            reader_digests=readers,
            is_open=not (writers or readers),
            trust_sql=trust_sql,
            limits=limits,
            keep=keep,
        )
        if migrations.migrate(data):
            link(data)  # a migration may have given `requests` columns that only linking fills

        def ready(url: str) -> None:
            document: dict[str, Any] = {
                "store": str(settings.folder),
                "url": url,
                "pid": os.getpid(),
                "token_needed": not settings.is_open,
                "keep_events_days": keep.events_days,
                "keep_summaries_days": keep.summaries_days,
                "max_disk_bytes": keep.disk_bytes,
            }
            answer(as_json, document, f"serving {settings.folder} at {url}; stop it with Ctrl-C")

        serve_now(data, settings, bound, ready, say)
    say("stopped")
    return DONE
