"""TLS of the front: a certificate and its key from files, which may be read again."""

import ssl
from dataclasses import dataclass
from pathlib import Path

from quiclens_api.failure import CannotRun


@dataclass(frozen=True, slots=True)
class Tls:
    """A certificate chain and its key, both PEM, and the context that has them."""

    certificate: Path
    key: Path
    context: ssl.SSLContext

    def reload(self) -> None:
        """Read both again, for connections made from now on; CannotRun, and nothing changes, when they cannot be."""
        _load(context(), self.certificate, self.key)
        _load(self.context, self.certificate, self.key)


def tls(certificate: Path, key: Path) -> Tls:
    """Read both; CannotRun when they cannot be, or do not belong together."""
    made = context()
    _load(made, certificate, key)
    return Tls(certificate, key, made)


def context() -> ssl.SSLContext:
    """TLS 1.2 and later, with the ciphers of the Python that runs this; HTTP/1.1."""
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    made.minimum_version = ssl.TLSVersion.TLSv1_2
    made.set_alpn_protocols(["http/1.1"])
    return made


def _load(into: ssl.SSLContext, certificate: Path, key: Path) -> None:
    try:
        into.load_cert_chain(certificate, key, password=lambda: "")
    except (OSError, ssl.SSLError) as error:
        hint = "both are PEM, the key without a password, and they belong together"
        raise CannotRun(
            "no_certificate", f"cannot use {certificate} with {key}: {error.strerror or error}", hint
        ) from error
