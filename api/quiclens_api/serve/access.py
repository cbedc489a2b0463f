"""Who asks, and what they may: a token makes a reader or a writer."""

import base64
import binascii
import hashlib
import hmac
import ipaddress
from collections.abc import Mapping, Sequence
from enum import Enum
from urllib.parse import urlsplit

from starlette.requests import HTTPConnection

from quiclens_api.serve.faults import Fault
from quiclens_api.serve.settings import Settings

_DIGEST_PREFIX = "sha256:"


class Role(Enum):
    """What a request may do."""

    READER = "reader"
    WRITER = "writer"


def digest(token: str) -> bytes:
    """A token as it is kept; one written as `sha256:<hex>` is a digest already, ValueError when it is none."""
    if token.startswith(_DIGEST_PREFIX):
        kept = bytes.fromhex(token.removeprefix(_DIGEST_PREFIX))
        if len(kept) != hashlib.sha256().digest_size:
            raise ValueError("a SHA-256 digest has 64 hex digits")
        return kept
    return hashlib.sha256(token.encode()).digest()


def is_owner(request: HTTPConnection) -> bool:
    """Whether a request came over the store's own unix socket, which the kernel opens to the store's user alone."""
    server = request.scope.get("server")
    return server is not None and server[1] is None


def role_of(settings: Settings, request: HTTPConnection) -> Role:
    """The role that a request's token gives, WRITER for everybody where no token is asked for; Fault otherwise."""
    if is_owner(request):
        return Role.WRITER
    headers = request.headers
    _refuse_browsers(headers, settings.is_open)
    token = token_of(headers)
    role = role_of_token(settings.writer_digests, settings.reader_digests, token)
    if role is not None:
        return role
    if settings.is_open:
        return Role.WRITER
    message = "the token is not right" if token else "this server asks for a token, as X-ClickHouse-Key or password"
    raise Fault(516, "AUTHENTICATION_FAILED", f"Authentication failed: {message}", 403 if token else 401)


def role_of_token(writers: Sequence[bytes], readers: Sequence[bytes], token: str) -> Role | None:
    """What a token lets do, by the digests that are kept; None for none and for a wrong one."""
    if not token:
        return None
    given = hashlib.sha256(token.encode()).digest()
    # Every digest is compared, so that time tells nothing.
    is_writer = any([hmac.compare_digest(given, kept) for kept in writers])
    is_reader = any([hmac.compare_digest(given, kept) for kept in readers])
    return Role.WRITER if is_writer else Role.READER if is_reader else None


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


def _refuse_browsers(headers: Mapping[str, str], is_open: bool) -> None:
    """A page of some other site, in a browser on this machine, must not reach a store that asks for no token."""
    host = headers.get("host", "")
    origin = headers.get("origin", "")
    is_foreign = bool(origin) and urlsplit(origin).netloc != host
    if is_foreign or headers.get("sec-fetch-site", "none") not in ("none", "same-origin"):
        raise Fault(516, "AUTHENTICATION_FAILED", "Requests from other sites' pages are refused", 403)
    if is_open and host and not is_loopback(urlsplit(f"//{host}").hostname or ""):
        raise Fault(516, "AUTHENTICATION_FAILED", f"Host {host} is not this machine's; set a token to serve it", 403)
