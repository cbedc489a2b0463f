"""Running the app: the address is taken first, then the app starts, then others are told, and all of it in reverse."""

import asyncio
import hashlib
import os
import signal
import socket
import stat
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir

import uvicorn
from quiclens_schema.store import Store
from starlette.types import ASGIApp

from quiclens_api.failure import CannotRun, usage
from quiclens_api.serve.access import digest, is_loopback
from quiclens_api.serve.app import create_app
from quiclens_api.serve.settings import Settings

_LONGEST_URL = 1 << 20  # ClickHouse's http_max_uri_size
_CONNECTIONS = 500  # beyond, 503


def address(listen: str) -> tuple[str, int]:
    """HOST:PORT, [IPv6]:PORT or PORT; UsageMistake for anything else."""
    host, _, port = listen.rpartition(":")
    if not port.isascii() or not port.isdigit() or int(port) > 65_535:
        raise usage(f"{listen!r} is no address", "--listen HOST:PORT, as 127.0.0.1:8123")
    return host.strip("[]") or "127.0.0.1", int(port)


def bind(host: str, port: int) -> socket.socket:
    """The listening socket; CannotRun when the address is taken or not ours."""
    with ExitStack() as held:
        try:
            found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, proto=socket.IPPROTO_TCP)
            family, _, protocol, _, where = found[0]
            # With the protocol named, asyncio sets TCP_NODELAY; without, an answer waits 40 ms for its body.
            bound = held.enter_context(socket.socket(family, socket.SOCK_STREAM, protocol))
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            bound.bind(where)
            bound.listen(128)
        except OSError as error:
            hint = "another port: --listen 127.0.0.1:8124"
            raise CannotRun("cannot_listen", f"cannot listen on {host}:{port}: {error.strerror}", hint) from error
        held.pop_all()
    return bound


def url_of(bound: socket.socket) -> str:
    """How processes of this machine reach it."""
    host, port = bound.getsockname()[:2]
    if host in ("0.0.0.0", "::"):
        host = "127.0.0.1" if host == "0.0.0.0" else "::1"
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def digests(
    host: str, writer: str, reader: str, *, has_proxy: bool = False
) -> tuple[tuple[bytes, ...], tuple[bytes, ...]]:
    """The tokens of writers and readers as they are kept; UsageMistake when others could reach us with neither a token
    nor a proxy that says who they are."""
    try:
        found = tuple((digest(token),) if token else () for token in (writer, reader))
    except ValueError as error:
        raise usage(f"a token cannot be read: {error}", "the token itself, or sha256: and 64 hex digits") from error
    if not is_loopback(host) and not any(found) and not has_proxy:
        hint = "set QUICLENS_SERVE_TOKEN, or listen on 127.0.0.1"
        raise usage(f"{host} can be reached from other machines, and no token is set", hint)
    return found[0], found[1]


@contextmanager
def in_an_empty_folder() -> Iterator[None]:
    """Work where there are no files, from before the engine starts: it takes a table name that is a file's, in the
    folder in which it was started, for that file."""
    before = os.getcwd()
    with TemporaryDirectory(prefix="quiclens-serve-") as empty:
        os.chdir(empty)
        try:
            yield
        finally:
            os.chdir(before)


def serve(
    store: Store, settings: Settings, bound: socket.socket, ready: Callable[[str], None], tell: Callable[[str], None]
) -> None:
    """Serve the embedded store until SIGTERM or SIGINT, and say to processes of this machine where."""
    with owners_socket(settings.folder) as own:

        def started(url: str) -> None:
            store.announce(url, settings.instance, Path(own.getsockname()))
            ready(url)

        run(create_app(store, settings, tell), bound, int(settings.limits.drain_seconds), started, own)


def run(
    app: ASGIApp,
    bound: socket.socket,
    drain_seconds: int,
    started: Callable[[str], None],
    own: socket.socket | None = None,
) -> None:
    """Answer on a socket until SIGTERM or SIGINT; running requests are finished first, as long as that takes. On the
    socket `own`, which only this user reaches, everybody may do everything."""
    config = uvicorn.Config(
        app,
        http="h11",
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,  # who asks is decided by web/access.py alone
        h11_max_incomplete_event_size=_LONGEST_URL,
        timeout_keep_alive=30,
        limit_concurrency=_CONNECTIONS,
        timeout_graceful_shutdown=drain_seconds,
    )
    asyncio.run(_Server(config, lambda: started(url_of(bound)), own).serve(sockets=[bound]))


class _Server(uvicorn.Server):
    """Says when it is ready, and ends quietly on a signal: the exit code is ours to choose."""

    def __init__(self, config: uvicorn.Config, started: Callable[[], None], own: socket.socket | None) -> None:
        super().__init__(config)
        self._started = started
        self._own = own

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            if self._own is not None:  # without TLS, which the others may have
                loop = asyncio.get_running_loop()
                self.servers.append(await loop.create_unix_server(self._protocol, sock=self._own))
            self._started()

    def _protocol(self) -> asyncio.Protocol:
        """One more connection, as uvicorn makes them for its own sockets."""
        make: Callable[..., asyncio.Protocol] = self.config.http_protocol_class
        return make(config=self.config, server_state=self.server_state, app_state=self.lifespan.state)

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        kept = {each: signal.signal(each, self.handle_exit) for each in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for each, before in kept.items():
                signal.signal(each, before)


@contextmanager
def owners_socket(folder: Path) -> Iterator[socket.socket]:
    """A unix socket for commands of this machine that run as the store's user; the kernel lets nobody else connect.

    It lies in a folder of the user's own that goes with the session or the service, never in the store's folder.
    """
    kept = runtime_folder() / f"{hashlib.sha256(str(folder).encode()).hexdigest()[:16]}.socket"
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as made:
        try:
            kept.unlink(missing_ok=True)  # of a process that was killed: the store's lock is ours
            made.bind(str(kept))
            kept.chmod(0o600)
            made.listen(128)
        except OSError as error:
            raise CannotRun("cannot_listen", f"cannot make the socket {kept}: {error.strerror}") from error
        try:
            yield made
        finally:
            kept.unlink(missing_ok=True)


def runtime_folder() -> Path:
    """Where this user's sockets lie: systemd's RUNTIME_DIRECTORY, $XDG_RUNTIME_DIR/quiclens, else a folder in the
    temporary one. CannotRun where it is, or could be, another user's."""
    given = os.environ.get("RUNTIME_DIRECTORY", "").partition(":")[0]
    session = os.environ.get("XDG_RUNTIME_DIR", "")
    found = Path(given or (f"{session}/quiclens" if session else f"{gettempdir()}/quiclens-{os.getuid()}"))
    try:
        found.mkdir(mode=0o700, exist_ok=True)
        said = found.lstat()
    except OSError as error:
        raise CannotRun("cannot_listen", f"cannot make the folder {found}: {error.strerror}") from error
    if not stat.S_ISDIR(said.st_mode) or said.st_uid != os.getuid() or said.st_mode & 0o022:
        hint = "remove it, or set XDG_RUNTIME_DIR to a folder of your own"
        raise CannotRun("cannot_listen", f"{found} may be written to by others", hint)
    return found
