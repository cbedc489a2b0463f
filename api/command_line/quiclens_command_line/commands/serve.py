"""quiclens serve"""

import os
import secrets
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from quiclens_schema.store import DEFAULT_URL, without_password
from quiclens_schema.supervised import Supervisor

from quiclens_command_line.commands.cluster import settings_of
from quiclens_command_line.commands.options import AsJson, Expect, KeepEvents, KeepSummaries, MaxDisk, StoreUrl, keeping
from quiclens_command_line.expected import expected
from quiclens_command_line.output import answer, say
from quiclens_questions.failure import DONE, CannotRun, usage
from quiclens_questions.opening import opened
from quiclens_web.front.keep import GB, MB

if TYPE_CHECKING:
    from socket import socket

    from quiclens_web.app import Front


def serve(
    listen: Annotated[
        str, typer.Option("--listen", metavar="HOST:PORT", help="Where; another machine's reach needs a token.")
    ] = "127.0.0.1:8123",
    keep_events: KeepEvents = "7d",
    keep_summaries: KeepSummaries = "90d",
    max_disk_gb: MaxDisk = 0,
    max_seconds: Annotated[float, typer.Option(min=0.1, metavar="N", help="Longest query.")] = 300,
    max_memory_gb: Annotated[
        float, typer.Option(min=0.1, metavar="N", help="Memory of SQL statements; one may have a quarter.")
    ] = 1,
    sql: Annotated[
        bool | None,
        typer.Option("--sql/--no-sql", help="Answer SQL that reads; unless said, on a loopback address alone."),
    ] = None,
    max_upload_mb: Annotated[int, typer.Option(min=1, metavar="N", help="Largest body, decompressed.")] = 512,
    redact_uploads: Annotated[
        bool,
        typer.Option(
            "--redact-uploads/--no-redact-uploads",
            help="Of traces that are uploaded keep no client address, header value, payload byte, user name.",
        ),
    ] = True,
    qvis: Annotated[
        str, typer.Option("--qvis", metavar="URL", help="A qvis that pages link to and that may read exports.")
    ] = "",
    user_header: Annotated[
        str, typer.Option("--user-header", metavar="NAME", help="Header in which a trusted proxy names who asks.")
    ] = "",
    trust_proxy: Annotated[
        list[str] | None,
        typer.Option(
            "--trust-proxy",
            metavar="NETWORK",
            help="Where such a proxy is, 10.0.0.7 or 10.0.0.0/8; repeatable. Whatever else runs there is trusted too.",
        ),
    ] = None,
    public_host: Annotated[
        list[str] | None,
        typer.Option("--public-host", metavar="NAME", help="A name by which it is reached; repeatable."),
    ] = None,
    tokens: Annotated[
        Path | None, typer.Option("--tokens", metavar="FILE", help="Named tokens: lines of NAME ROLE sha256:HEX.")
    ] = None,
    tls_cert: Annotated[
        Path | None, typer.Option("--tls-cert", metavar="FILE", help="Certificate chain, PEM; read again at SIGHUP.")
    ] = None,
    tls_key: Annotated[Path | None, typer.Option("--tls-key", metavar="FILE", help="Its private key, PEM.")] = None,
    behind_tls_proxy: Annotated[
        bool, typer.Option("--behind-tls-proxy", help="A proxy before it speaks TLS with the world.")
    ] = False,
    audit_log: Annotated[
        Path | None, typer.Option("--audit-log", metavar="FILE", help="Append who asked what, JSON lines.")
    ] = None,
    brokers: Annotated[
        str, typer.Option("--brokers", metavar="HOST:PORT,…", help="Take from Kafka too, as `quiclens ingest` does.")
    ] = "",
    ingest_config: Annotated[
        Path | None,
        typer.Option("--ingest-config", metavar="FILE", help="Take from Kafka too, by these settings of ingest."),
    ] = None,
    expect: Expect = "",
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
    in who may write, QUICLENS_SERVE_READ_TOKEN who may only read, --tokens as many as you name, also uploaders, which
    read nothing; SIGHUP reads that file again. A token is the password, X-ClickHouse-Key or the bearer token, has at
    least 16 characters, and may be given as sha256:HEX. --trust-proxy with --user-header lets in whoever that proxy
    names, to read.

    Another address than a loopback one needs TLS, its own or that of a proxy before it. QUICLENS_SERVE_SESSION_KEY, the
    same for several processes, lets a browser that signed in at one use all. Days count from the day of the traces or
    from their loading, whichever is later.

    With --brokers or --ingest-config one command takes what collectors send from Kafka and serves it. Ingest is a
    process beside this one, since the one that holds the store gives up the network; it begins and ends with it, and is
    started again when it fails. It tells its own metrics where its settings say.

    Examples:

    \b
    quiclens serve
    quiclens serve --store chdb:/srv/quiclens --max-disk-gb 200
    quiclens serve --listen 0.0.0.0:8443 --tls-cert chain.pem --tls-key key.pem --tokens tokens
    quiclens serve --store http://reader@clickhouse:8123/quiclens --listen 127.0.0.1:8124
    quiclens serve --brokers kafka:9092
    curl 'http://127.0.0.1:8123/?query=SELECT+count()+FROM+requests'
    """
    # Here: what answers over HTTP takes longer to import than most commands take to answer.
    from quiclens_store_server.embedded import serve_embedded
    from quiclens_web.app import create_pages
    from quiclens_web.front import logs
    from quiclens_web.front.access import is_loopback
    from quiclens_web.front.admission import Admission
    from quiclens_web.front.files_beside import FilesBeside
    from quiclens_web.front.serving import Listening, address, bind, run
    from quiclens_web.front.settings import ServeSettings, StatementLimits
    from quiclens_web.front.tls import tls

    logs.to_stderr()
    host, port = address(listen)
    keep = keeping(keep_events, keep_summaries, max_disk_gb)
    upload = max_upload_mb * MB
    limits = StatementLimits(
        seconds=max_seconds,
        memory_bytes=int(max_memory_gb * GB),
        upload_bytes=upload,
        held_bytes=max(upload * 2, GB),
    )
    if bool(tls_cert) != bool(tls_key):
        raise usage("a certificate needs its key, and a key its certificate", "give both --tls-cert and --tls-key")
    files = FilesBeside([path for path in (tokens, tls_cert, tls_key) if path])  # read again at SIGHUP
    admission = Admission(
        host=host,
        tokens_file=tokens.absolute() if tokens else None,
        user_header=user_header,
        trusted_proxies=trust_proxy or (),
        public_hosts=public_host or (),
        has_tls=tls_cert is not None,
        is_behind_tls_proxy=behind_tls_proxy,
        qvis=qvis,
        read=files.read,
    )
    settings = ServeSettings(
        folder=Path(),
        has_sql=is_loopback(host) if sql is None else sql,
        instance=secrets.token_hex(8),
        access=admission.access(),
        limits=limits,
        keep=keep,
        expected=expected(expect),
        redacts_uploads=redact_uploads,
        audit=_appending(audit_log) if audit_log else _nobody,
    )

    supervisor = Supervisor()  # before this process is confined

    def ready(url: str, place: str) -> None:
        supervisor.begun()
        document: dict[str, Any] = {
            "store": place,
            "url": url,
            "pid": os.getpid(),
            "token_needed": not settings.access.is_open,
            "keep_events_days": keep.events_days,
            "keep_summaries_days": keep.summaries_days,
            "max_disk_bytes": keep.disk_bytes,
        }
        answer(as_json, document, f"serving {place}: open {url} in a browser; stop it with Ctrl-C")

    certificate = tls(tls_cert.absolute(), tls_key.absolute(), files.read) if tls_cert and tls_key else None

    def listening(bound: "socket", front: "Front") -> Listening:
        def reload() -> None:
            front.keeper.access = replace(front.keeper.access, tokens=admission.tokens())

        return Listening(bound, certificate, reload, supervisor.alive)

    is_taking = bool(brokers or ingest_config)
    if is_taking and not store.startswith("chdb:"):
        raise usage("a ClickHouse server gets its rows from `quiclens ingest`", "start that beside this")
    if store.startswith("chdb:"):
        taking = settings_of(ingest_config, brokers=brokers) if is_taking else None
        with files.beside():
            serve_embedded(store, settings, host, port, listening, ready, taking, say)
    else:
        with bind(host, port) as bound, opened(store) as data:
            place, front = without_password(store), create_pages(data, settings)
            run(front, listening(bound, front), settings, lambda url: ready(url, place))
    say("stopped")
    return DONE


def _appending(path: Path) -> Callable[[str], None]:
    """Writes lines to the end of a file that only this user can read."""
    try:
        file = os.fdopen(os.open(path.absolute(), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), "a", buffering=1)
    except OSError as error:
        raise CannotRun("cannot_write", f"cannot write {path}: {error.strerror}", "another --audit-log") from error
    return lambda line: print(line, file=file)


def _nobody(line: str) -> None:
    """Nobody keeps who asked what."""
