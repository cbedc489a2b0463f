"""Running the app: the address is taken first, then the app starts, then others are told, and all of it in reverse."""

import asyncio
import hashlib
import logging
import os
import resource
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import gettempdir

import uvicorn

from quiclens_questions.failure import CannotRun, Failure, usage
from quiclens_web.app import Front
from quiclens_web.front.connections import Connections, protocol_factory
from quiclens_web.front.handshakes import Handshakes
from quiclens_web.front.own_folder import own_folder
from quiclens_web.front.settings import ServeSettings
from quiclens_web.front.tls import Tls

log = logging.getLogger("quiclens.serve")

_LONGEST_HEAD = 1 << 20  # ClickHouse's http_max_uri_size
_BACKLOG = 1024  # connections that the kernel holds for us
_SPARE_FILES = 1024  # for the engine, and for answers on their way through files


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
            bound.listen(_BACKLOG)
        except OSError as error:
            hint = "another port: --listen 127.0.0.1:8124"
            raise CannotRun("cannot_listen", f"cannot listen on {host}:{port}: {error.strerror}", hint) from error
        held.pop_all()
    return bound


def url_of(bound: socket.socket, scheme: str = "http") -> str:
    """How programs of this machine reach it."""
    host, port = bound.getsockname()[:2]
    if host in ("0.0.0.0", "::"):
        host = "127.0.0.1" if host == "0.0.0.0" else "::1"
    return f"{scheme}://[{host}]:{port}" if ":" in host else f"{scheme}://{host}:{port}"


@dataclass(frozen=True, slots=True)
class Listening:
    """Where to answer, and how."""

    bound: socket.socket
    tls: Tls | None = None
    reload: Callable[[], None] = lambda: None  # at SIGHUP, beside the certificate
    turned: Callable[[], None] = lambda: None  # ten times a second, while the loop turns

    @property
    def url(self) -> str:
        return url_of(self.bound, "https" if self.tls else "http")


def run(
    front: Front,
    where: Listening,
    settings: ServeSettings,
    started: Callable[[str], None],
    own: socket.socket | None = None,
    ending: Callable[[], None] = lambda: None,
) -> None:
    """Answer on a socket until SIGTERM or SIGINT; running requests are finished first, as long as that takes. On the
    socket `own`, which only this user reaches, everybody may do everything. SIGHUP reads certificate and tokens again.

    `ending` is called, in a thread, when it is to end, and requests are still answered until it returns.
    """
    limits = settings.limits.connections
    config = uvicorn.Config(
        front,
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,  # who asks is decided by access.py alone
        h11_max_incomplete_event_size=_LONGEST_HEAD,
        timeout_keep_alive=limits.idle_seconds,
        timeout_graceful_shutdown=int(settings.limits.drain_seconds),
    )
    at_once = min(limits.at_once, max((_raised_file_limit() - _SPARE_FILES) // 2, 64))
    connections = Connections(replace(limits, at_once=at_once), front.metrics, settings.access.proxies)
    asyncio.run(_Server(config, where, connections, lambda: started(where.url), own, ending).serve(sockets=[]))


class _Server(uvicorn.Server):
    """Listens by itself, says when it is ready, and ends quietly on a signal: the exit code is ours to choose."""

    def __init__(
        self,
        config: uvicorn.Config,
        where: Listening,
        connections: Connections,
        started: Callable[[], None],
        own: socket.socket | None,
        ending: Callable[[], None],
    ) -> None:
        super().__init__(config)
        self._where = where
        self._connections = connections
        self._started = started
        self._own = own
        self._ending = ending

    async def on_tick(self, counter: int) -> bool:
        self._where.turned()
        return await super().on_tick(counter)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup([])
        if not self.started:
            return
        loop = asyncio.get_running_loop()
        make = protocol_factory(self.config, self.server_state, self.lifespan.state, self._connections)
        tls = self._where.tls
        first = Handshakes(tls.context, make, self._connections) if tls else make
        server = await loop.create_server(first, sock=self._where.bound, backlog=_BACKLOG)
        self.servers.append(server)
        if self._own is not None:
            self.servers.append(await loop.create_unix_server(make, sock=self._own))
        loop.add_signal_handler(signal.SIGHUP, self._reload)
        self._started()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        await asyncio.to_thread(self._ending)
        await super().shutdown(sockets)

    def _reload(self) -> None:
        """Read the certificate and the tokens again; what cannot be read stays as it was."""
        for what in (self._where.tls.reload if self._where.tls else None, self._where.reload):
            try:
                if what is not None:
                    what()
            except Failure as failure:
                log.error("not reloaded: %s", failure.message)

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        kept = {each: signal.signal(each, self.handle_exit) for each in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for each, before in kept.items():
                signal.signal(each, before)


def _raised_file_limit() -> int:
    """The number of files that this process may have open, raised as far as it may be."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    except (ValueError, OSError):  # where the hard limit is none that a process can have, as on macOS
        return soft
    return hard


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
    return own_folder(found, "cannot_listen", "XDG_RUNTIME_DIR")
