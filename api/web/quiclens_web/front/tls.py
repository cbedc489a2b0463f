"""TLS of the front: a certificate and its key from files, which may be read again."""

import ssl
import tempfile
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from quiclens_questions.failure import CannotRun
from quiclens_web.front.files_beside import Read, directly


@dataclass(frozen=True, slots=True)
class Tls:
    """A certificate chain and its key, both PEM, and the context that has them."""

    certificate: Path
    key: Path
    context: ssl.SSLContext
    read: Read = directly

    def reload(self) -> None:
        """Read both again, for connections made from now on; CannotRun, and nothing changes, when they cannot be."""
        _load((context(), self.context), self.certificate, self.key, self.read)


def tls(certificate: Path, key: Path, read: Read = directly) -> Tls:
    """Read both; CannotRun when they cannot be, or do not belong together."""
    made = context()
    _load((made,), certificate, key, read)
    return Tls(certificate, key, made, read)


def context() -> ssl.SSLContext:
    """TLS 1.2 and later, with the ciphers of the Python that runs this; HTTP/1.1."""
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    made.minimum_version = ssl.TLSVersion.TLSv1_2
    made.set_alpn_protocols(["http/1.1"])
    return made


def _load(into: tuple[ssl.SSLContext, ...], certificate: Path, key: Path, read: Read) -> None:
    """Into each context, as both are at one moment; into none where the first does not take them."""
    try:
        with ExitStack() as held:
            # Python's contexts take files alone; these are this user's, and gone at once.
            copies = [held.enter_context(tempfile.NamedTemporaryFile()) for _ in range(2)]
            for copy, path in zip(copies, (certificate, key), strict=True):
                copy.write(read(path))
                copy.flush()
            for each in into:
                each.load_cert_chain(copies[0].name, copies[1].name, password=lambda: "")
    except (OSError, ssl.SSLError) as error:
        hint = "both are PEM, the key without a password, and they belong together"
        raise CannotRun(
            "no_certificate", f"cannot use {certificate} with {key}: {error.strerror or error}", hint
        ) from error
