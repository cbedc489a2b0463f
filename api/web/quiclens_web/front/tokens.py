"""Named tokens: who may come in, and as what. Kept as SHA-256 digests, never as they are.

A file of tokens has one on each line, `NAME ROLE sha256:HEX`, and comments after `#`.
"""

import hashlib
import hmac
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum

DIGEST_PREFIX = "sha256:"
SHORTEST = 16
"""Characters of the shortest token that is taken in clear: 16 random letters and digits are 95 bits."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.@-]{0,63}")


class Role(Enum):
    """What a request may do."""

    READER = "reader"
    WRITER = "writer"
    UPLOADER = "uploader"  # brings traces and rows in, and reads nothing


class TokenError(Exception):
    """A token, or a line of a file of tokens, that cannot be used."""


@dataclass(frozen=True, slots=True)
class Token:
    """One token: its digest, whose it is, and what it lets do."""

    name: str
    role: Role
    digest: bytes

    @property
    def mark(self) -> str:
        """Tells this token from a later one of the same name, and nothing of what it is."""
        return hashlib.sha256(b"mark" + self.digest).hexdigest()[:16]


def digest(token: str) -> bytes:
    """A token as it is kept; one written as `sha256:HEX` is a digest already. TokenError when it is none, or when a
    token in clear is so short that it could be guessed."""
    if token.startswith(DIGEST_PREFIX):
        try:
            kept = bytes.fromhex(token.removeprefix(DIGEST_PREFIX))
        except ValueError:
            kept = b""
        if len(kept) != hashlib.sha256().digest_size:
            raise TokenError("a SHA-256 digest has 64 hex digits")
        return kept
    if len(token) < SHORTEST:
        raise TokenError(f"a token has at least {SHORTEST} characters: `openssl rand -hex 16` makes one")
    return hashlib.sha256(token.encode()).digest()


def read(text: str) -> tuple[Token, ...]:
    """The tokens of a file; TokenError, with the line's number, for a line that is no token or repeats one."""
    found: list[Token] = []
    for number, line in enumerate(text.splitlines(), 1):
        words = line.partition("#")[0].split()
        if not words:
            continue
        try:
            found.append(_token(words, found))
        except TokenError as error:
            raise TokenError(f"line {number}: {error}") from error
    return tuple(found)


def _token(words: Sequence[str], known: Iterable[Token]) -> Token:
    if len(words) != 3:
        raise TokenError("a line is NAME ROLE sha256:HEX")
    name, role, kept = words
    if not _NAME.fullmatch(name):
        raise TokenError(f"{name!r} is no name: letters, digits and _.@- up to 64")
    roles = [each for each in Role if each.value == role]
    if not roles:
        raise TokenError(f"{role!r} is no role; roles are {', '.join(each.value for each in Role)}")
    if not kept.startswith(DIGEST_PREFIX):
        raise TokenError("a file has digests alone: printf %s TOKEN | sha256sum")
    token = Token(name, roles[0], digest(kept))
    for other in known:
        if token.name == other.name or token.digest == other.digest:
            raise TokenError(f"{name} and {other.name} have one name or one token")
    return token


def find(tokens: Sequence[Token], given: str) -> Token | None:
    """The token that was given; None for none and for a wrong one. Every digest is compared, so time tells nothing."""
    if not given:
        return None
    asked = hashlib.sha256(given.encode("utf-8", "surrogateescape")).digest()
    matching = [token for token in tokens if hmac.compare_digest(asked, token.digest)]
    return matching[0] if matching else None
