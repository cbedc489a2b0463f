"""Browsers that gave a token: a signed cookie, which every process that has the same key understands.

Of a session nothing is kept but, of those that were signed out, the id. It ends with its token, or after 12 hours.
"""

import secrets
import time
from collections import OrderedDict
from collections.abc import Sequence

from itsdangerous import BadSignature, URLSafeTimedSerializer

from quiclens_web.front.tokens import Token

SECONDS = 12 * 3600
KEY_BYTES = 32
_SIGNED_OUT_AT_MOST = 10_000


class Sessions:
    """Makes and reads the cookie's value."""

    def __init__(self, key: bytes = b"") -> None:
        """Without a key, one that only this process knows."""
        self._signer = URLSafeTimedSerializer(key or secrets.token_bytes(KEY_BYTES), salt="quiclens-session")
        self._signed_out: OrderedDict[str, float] = OrderedDict()

    def begin(self, token: Token) -> str:
        """The value of a new session's cookie."""
        return str(self._signer.dumps([secrets.token_urlsafe(16), token.name, token.mark]))

    def token(self, tokens: Sequence[Token], cookie: str) -> Token | None:
        """The token that a session was begun with, if it still is one; None when the session is none, or has ended."""
        found = self._read(cookie)
        if found is None or found[0] in self._signed_out:
            return None
        return next((each for each in tokens if [each.name, each.mark] == found[1:]), None)

    def end(self, cookie: str) -> None:
        """Sign out: this process takes the session no more, also from whoever copied its cookie."""
        if (found := self._read(cookie)) is None:
            return
        now = time.monotonic()
        self._signed_out[found[0]] = now
        while len(self._signed_out) > _SIGNED_OUT_AT_MOST or next(iter(self._signed_out.values())) < now - SECONDS:
            self._signed_out.popitem(last=False)

    def _read(self, cookie: str) -> list[str] | None:
        if not cookie:
            return None
        try:
            found = self._signer.loads(cookie, max_age=SECONDS)
        except BadSignature:  # also one that is too old
            return None
        return found if isinstance(found, list) and len(found) == 3 else None
