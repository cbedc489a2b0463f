"""Who may come in, by one rule for every door: ClickHouse's interface, the API, the pages, the files, the login.

1. What comes over the store's own unix socket is its owner's.
2. The name in `Host` is one that this server has, so that no page can reach it by a name of its own (DNS rebinding).
3. Other sites' pages may link to pages here, and the configured qvis may read exports; nothing else.
4. Who asks: the user that a trusted proxy names, a token, a session of a browser that gave one, or, where no token is
   asked for, whoever reaches the (loopback) address.
5. An uploader brings traces and rows, and nothing else.
"""

import base64
import binascii
import ipaddress
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from starlette.requests import HTTPConnection

from quiclens_web.front import foreign, tokens
from quiclens_web.front.attempts import Attempts, network_of
from quiclens_web.front.problems import Stopped
from quiclens_web.front.sessions import Sessions
from quiclens_web.front.tokens import Role, Token

Network = ipaddress.IPv4Network | ipaddress.IPv6Network

_UPLOADS = re.compile(r"/api/v1/traces|/store/tables/[^/]+/rows")
_EXPORT = (".sqlog", ".qlog")
_LONGEST_USER = 200


@dataclass(frozen=True, slots=True)
class Access:
    """What lets in."""

    tokens: tuple[Token, ...] = ()
    is_open: bool = True  # no token is asked for: whoever reaches the (loopback) address may write
    user_header: str = ""  # in which a trusted proxy names the user; empty: none
    proxies: tuple[Network, ...] = ()  # from which that header, and X-Forwarded-For, are believed
    public_hosts: tuple[str, ...] = ()  # names of this server, beside those of loopback and addresses
    is_secure: bool = False  # browsers speak TLS with us, or with the proxy before us
    qvis: str = ""  # address of a qvis that may read exports; empty: none
    session_key: bytes = b""  # that several processes share; empty: one of this process alone


@dataclass(frozen=True, slots=True)
class Visitor:
    """Who asks: the name of a token or of a user, from where, and what they may."""

    name: str
    role: Role
    address: str
    has_name: bool = True  # a token's, or a user's; else whoever reaches the address

    @property
    def crowd(self) -> str:
        """Whose share of requests, uploads and exports is this one's: a name's, from wherever it asks."""
        return self.name if self.has_name else f"{self.name} {network_of(self.address)}"


@dataclass(slots=True)
class Doorkeeper:
    """Lets in by an `Access`; remembers who signed out, and who gave wrong tokens."""

    access: Access
    sessions: Sessions = field(init=False)
    attempts: Attempts = field(default_factory=Attempts)

    def __post_init__(self) -> None:
        self.sessions = Sessions(self.access.session_key)

    @property
    def cookie(self) -> str:
        """The name of the session's cookie; `__Host-` is what browsers keep for one host and TLS alone."""
        return "__Host-quiclens_session" if self.access.is_secure else "quiclens_session"

    def check_origin(self, request: HTTPConnection) -> None:
        """Rules 2 and 3; Stopped when a request must not come from there."""
        host, origin = request.headers.get("host", ""), request.headers.get("origin", "")
        if not self._is_our_name(host):
            hint = "serve --public-host NAME says by which names this server is reached"
            raise Stopped("not_let_in", f"Host {host[:200]!r} is no name of this server", hint)
        path, method = request.scope["path"], request.scope["method"]
        reads = method in ("GET", "HEAD")
        if reads and path.endswith(_EXPORT) and self.access.qvis and origin == self.access.qvis.rstrip("/"):
            return
        is_page = "query" not in request.query_params or path != "/"
        is_link = reads and is_page and request.headers.get("sec-fetch-mode") == "navigate"
        is_ours = request.headers.get("sec-fetch-site", "none") in ("none", "same-origin") or is_link
        if (origin and not _is_at(origin, host)) or not is_ours:
            raise Stopped("not_let_in", "requests from other sites' pages are refused")

    def visitor(self, request: HTTPConnection) -> Visitor:
        """Rules 1, 4 and 5; Stopped when it is nobody whom we let in."""
        address = address_of(request, self.access.proxies)
        if is_owner(request):
            return Visitor("owner", Role.WRITER, address)
        found = self._who(request, address)
        if found.role is Role.UPLOADER and not (
            request.scope["method"] == "POST" and _UPLOADS.fullmatch(request.scope["path"])
        ):
            raise Stopped("not_let_in", f"the token {found.name} may upload, and nothing else")
        return found

    def token(self, given: str, address: str) -> Token | None:
        """The token that was given; None for a wrong one. Stopped when this peer gave too many of those.

        A right one never waits, so that no stranger's guesses lock out who has it, also where a proxy gives all
        visitors one address: of 16 characters it is found by no guessing. A shorter one, which only a digest can be of,
        is not looked at while its peer waits, unless it was right from there before.
        """
        found = tokens.find(self.access.tokens, given)
        wait = self.attempts.wait_seconds(address, given)
        if wait > 0 and (found is None or len(given) < tokens.SHORTEST):
            detail = f"too many wrong tokens from {address}: wait {wait:.0f} s"
            raise Stopped("too_many_attempts", detail, retry_after_seconds=int(wait) + 1)
        if found is None:
            self.attempts.was_wrong(address, given)
        else:
            self.attempts.was_right(address, given)
        return found

    def _who(self, request: HTTPConnection, address: str) -> Visitor:
        access, peer = self.access, request.client.host if request.client else ""
        if access.user_header and is_in(peer, access.proxies) and (user := request.headers.get(access.user_header)):
            return Visitor(user[:_LONGEST_USER], Role.READER, address)
        given = token_of(request.headers)
        if access.is_open:
            return Visitor("anyone", Role.WRITER, address, has_name=False)
        if given:
            if (token := self.token(given, address)) is None:
                raise Stopped("wrong_token", "the token is not right", "send another, as Authorization: Bearer …")
            return Visitor(token.name, token.role, address)
        session = self.sessions.token(access.tokens, request.cookies.get(self.cookie, ""))
        if session is not None:
            return Visitor(session.name, session.role, address)
        hint = "send one: Authorization: Bearer …, X-ClickHouse-Key, or as password"
        raise Stopped("token_needed", "this server asks for a token", hint)

    def _is_our_name(self, host: str) -> bool:
        read = foreign.address(f"//{host}")
        if read is None:
            return False
        name = read.hostname or ""
        if set("@/?#\\") & set(host):  # which a URL has beside a name
            return False
        # An address is no name: nobody can make theirs lead to us.
        return is_loopback(name) or _is_address(name) or name.rstrip(".").lower() in self.access.public_hosts


def visitor_of(request: HTTPConnection) -> Visitor:
    """Who asks, of a request that came through the door; RuntimeError of one that did not."""
    found = request.scope.get("state", {}).get("visitor")
    if not isinstance(found, Visitor):
        raise RuntimeError("a request did not come through the door")
    return found


def is_owner(request: HTTPConnection) -> bool:
    """Whether a request came over the store's own unix socket, which the kernel opens to the store's user alone."""
    server = request.scope.get("server")
    return server is not None and server[1] is None


def address_of(request: HTTPConnection, proxies: tuple[Network, ...]) -> str:
    """Where a request comes from: the peer, or, behind trusted proxies, the last address that none of them has."""
    peer = request.client.host if request.client else ""
    if not is_in(peer, proxies):
        return peer
    hops = [each.strip() for line in request.headers.getlist("x-forwarded-for") for each in line.split(",")]
    return next((hop for hop in reversed(hops) if _is_address(hop) and not is_in(hop, proxies)), peer)


def network(text: str) -> Network:
    """An address or a network, as 10.0.0.0/8; ValueError for anything else."""
    return ipaddress.ip_network(text.strip(), strict=False)


def is_loopback(host: str) -> bool:
    """Whether an address or name is this machine's own and no other can reach it."""
    name = host.strip("[]").rstrip(".").lower()
    if name == "localhost" or name.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(name.partition("%")[0]).is_loopback
    except ValueError:
        return False


def token_of(headers: Mapping[str, str]) -> str:
    """The token of a request, from wherever clients put it; empty when it has none."""
    if key := headers.get("x-clickhouse-key"):
        return key
    scheme, _, value = headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer":
        return value.strip()
    if scheme.lower() == "basic":
        try:
            return base64.b64decode(value, validate=True).decode().partition(":")[2]
        except (binascii.Error, UnicodeDecodeError):
            return ""
    return ""


def _is_at(origin: str, host: str) -> bool:
    """Whether a page's origin is at a host; what is no address is nowhere."""
    read = foreign.address(origin)
    return read is not None and read.netloc.lower() == host.lower()


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host.strip("[]").partition("%")[0])
    except ValueError:
        return False
    return True


def is_in(address: str, networks: tuple[Network, ...]) -> bool:
    """Whether an address lies in one of the networks; IPv4 in IPv6 as IPv4."""
    try:
        read = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return False
    mapped = getattr(read, "ipv4_mapped", None)
    return any((mapped or read) in each for each in networks)


__all__ = [
    "Access",
    "Doorkeeper",
    "Network",
    "Role",
    "Token",
    "Visitor",
    "address_of",
    "is_in",
    "is_loopback",
    "is_owner",
    "network",
    "token_of",
    "visitor_of",
]
