"""Who may ask the API and see the pages: whoever reaches a loopback address, a token, a session of a browser that gave
one, or a proxy that we were told to trust. Requests that other sites' pages make in a browser are refused, but for
following a link to a page, and for the configured qvis reading an export.
"""

import secrets
import time
from collections import OrderedDict
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from starlette.requests import Request

from quiclens_api.serve.access import Role, is_loopback, is_owner, role_of_token, token_of
from quiclens_api.serve.faults import Fault

COOKIE = "quiclens_session"
SESSION_SECONDS = 12 * 3600
_SESSIONS_AT_MOST = 10_000


@dataclass(frozen=True, slots=True)
class Access:
    """What lets in: digests of tokens, nobody's token on a loopback address (`is_open`), a trusted proxy's header."""

    writer_digests: tuple[bytes, ...] = ()
    reader_digests: tuple[bytes, ...] = ()
    is_open: bool = True
    user_header: str = ""  # in which a trusted proxy names the user; empty: none
    proxies: tuple[str, ...] = ()  # addresses of trusted proxies
    sessions: "Sessions" = field(default_factory=lambda: Sessions())


class Sessions:
    """Browsers that gave a token, by a random name in a cookie; the oldest goes when there are too many."""

    def __init__(self) -> None:
        self._kept: OrderedDict[str, tuple[Role, float]] = OrderedDict()

    def begin(self, role: Role) -> str:
        name = secrets.token_urlsafe(32)
        self._kept[name] = (role, time.monotonic() + SESSION_SECONDS)
        while len(self._kept) > _SESSIONS_AT_MOST:
            self._kept.popitem(last=False)
        return name

    def role(self, name: str) -> Role | None:
        role, until = self._kept.get(name, (None, 0.0))
        return role if time.monotonic() < until else None


@dataclass(frozen=True, slots=True)
class Asker:
    """Who asks, for the audit log, and what they may."""

    name: str
    role: Role


def asker(access: Access, qvis: str, request: Request) -> Asker:
    """Who asks; Fault when it is nobody we let in."""
    if is_owner(request):
        return Asker("owner", Role.WRITER)
    _refuse_other_sites(access, qvis, request)
    peer = request.client.host if request.client else ""
    if access.user_header and peer in access.proxies and (user := request.headers.get(access.user_header)):
        return Asker(user[:200], Role.READER)
    role = role_of_token(access.writer_digests, access.reader_digests, token_of(request.headers))
    if role is not None:
        return Asker("token", role)
    if (session := access.sessions.role(request.cookies.get(COOKIE, ""))) is not None:
        return Asker("session", session)
    if access.is_open:
        return Asker(peer or "local", Role.WRITER)
    raise Fault(516, "AUTHENTICATION_FAILED", "a token is needed here", 401)


def _refuse_other_sites(access: Access, qvis: str, request: Request) -> None:
    host, origin = request.headers.get("host", ""), request.headers.get("origin", "")
    if access.is_open and host and not is_loopback(urlsplit(f"//{host}").hostname or ""):
        raise Fault(516, "AUTHENTICATION_FAILED", f"Host {host} is not this machine's; set a token to serve it", 403)
    is_export = request.method == "GET" and request.url.path.endswith((".sqlog", ".qlog"))
    if is_export and qvis and origin == qvis.rstrip("/"):
        return
    if origin and urlsplit(origin).netloc != host:
        raise Fault(516, "AUTHENTICATION_FAILED", "Requests from other sites' pages are refused", 403)
    is_link = request.method == "GET" and request.headers.get("sec-fetch-mode") == "navigate"
    if request.headers.get("sec-fetch-site", "none") not in ("none", "same-origin") and not is_link:
        raise Fault(516, "AUTHENTICATION_FAILED", "Requests from other sites' pages are refused", 403)
