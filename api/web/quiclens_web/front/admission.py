"""Who may come in, as the command line and the environment say it."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from quiclens_questions.failure import CannotRun, usage
from quiclens_questions.given_secret import given_secret
from quiclens_web.front import sessions, tokens
from quiclens_web.front.access import Access, Network, is_loopback, network
from quiclens_web.front.files_beside import Read, directly
from quiclens_web.front.tokens import Role, Token, TokenError

TOKEN_VARIABLE = "QUICLENS_SERVE_TOKEN"
READ_TOKEN_VARIABLE = "QUICLENS_SERVE_READ_TOKEN"
SESSION_KEY_VARIABLE = "QUICLENS_SERVE_SESSION_KEY"


@dataclass(frozen=True, slots=True)
class Admission:
    """What was said. `host` is where it listens."""

    host: str
    tokens_file: Path | None = None
    user_header: str = ""
    trusted_proxies: Sequence[str] = ()
    public_hosts: Sequence[str] = ()
    has_tls: bool = False
    is_behind_tls_proxy: bool = False
    qvis: str = ""
    read: Read = directly

    def access(self, environment: Mapping[str, str] = os.environ) -> Access:
        """The same, read; UsageMistake for what cannot be, and for what would let strangers in or listen to tokens."""
        if bool(self.user_header) != bool(self.trusted_proxies):
            hint = "give both --user-header and --trust-proxy"
            raise usage("a header is trusted from a proxy's address alone", hint)
        known = self.tokens(environment)
        if not is_loopback(self.host):
            self._check_reach(bool(known))
        return Access(
            tokens=known,
            is_open=not (known or self.trusted_proxies),
            user_header=self.user_header,
            proxies=tuple(_network(each) for each in self.trusted_proxies),
            public_hosts=tuple(each.rstrip(".").lower() for each in (*self.public_hosts, self.host)),
            is_secure=self.has_tls or self.is_behind_tls_proxy,
            qvis=self.qvis,
            session_key=_session_key(given_secret(SESSION_KEY_VARIABLE, environment)),
        )

    def tokens(self, environment: Mapping[str, str] = os.environ) -> tuple[Token, ...]:
        """The tokens of the environment and of the file, which may be read again."""
        found: list[Token] = []
        for variable, name, role in (
            (TOKEN_VARIABLE, "writer", Role.WRITER),
            (READ_TOKEN_VARIABLE, "reader", Role.READER),
        ):
            if given := given_secret(variable, environment):
                try:
                    found.append(Token(name, role, tokens.digest(given)))
                except TokenError as error:
                    hint = "the token itself, or sha256: and 64 hex digits"
                    raise usage(f"{variable} cannot be used: {error}", hint) from error
        if self.tokens_file is not None:
            try:
                found += tokens.read(self.read(self.tokens_file).decode())
            except OSError as error:
                raise CannotRun("cannot_read", f"cannot read {self.tokens_file}: {error.strerror}") from error
            except (TokenError, UnicodeDecodeError) as error:
                raise usage(f"{self.tokens_file}: {error}", "lines of NAME ROLE sha256:HEX") from error
        if len({each.digest for each in found}) < len(found):
            raise usage("one token stands twice, with two names", "a token of its own for each")
        return tuple(found)

    def _check_reach(self, has_tokens: bool) -> None:
        if not has_tokens and not self.trusted_proxies:
            hint = f"set {TOKEN_VARIABLE}, or listen on 127.0.0.1"
            raise usage(f"{self.host} can be reached from other machines, and no token is set", hint)
        if not self.has_tls and not self.is_behind_tls_proxy:
            hint = "give --tls-cert and --tls-key, or --behind-tls-proxy where a proxy before it speaks TLS"
            raise usage(f"{self.host} can be reached from other machines, and tokens would go there in clear", hint)


def _network(text: str) -> Network:
    try:
        return network(text)
    except ValueError as error:
        raise usage(f"--trust-proxy {text!r} is no address and no network", "10.0.0.7, or 10.0.0.0/8") from error


def _session_key(text: str) -> bytes:
    key = text.encode()
    if key and len(key) < sessions.KEY_BYTES:
        hint = "`openssl rand -hex 32` makes one"
        raise usage(f"{SESSION_KEY_VARIABLE} has less than {sessions.KEY_BYTES} characters", hint)
    return key
