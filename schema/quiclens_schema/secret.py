"""Secrets: each has a name in capitals, by which one of three places gives it.

The variable of that name has the secret itself; the variable `NAME_FILE` says which file has it, as containers mount
them; and a systemd unit with `LoadCredential=NAME:…` needs neither: a credential of that name is looked for as well.
"""

import os
from collections.abc import Mapping
from pathlib import Path

FILE_SUFFIX = "_FILE"
_CREDENTIALS = "CREDENTIALS_DIRECTORY"  # systemd.exec(5), "Credentials"
_LARGEST = 64 << 10  # bytes; what is larger is another file


class SecretError(Exception):
    """A secret that was promised and cannot be had; one line for people, without the secret."""


def secret(name: str, environment: Mapping[str, str] = os.environ) -> str:
    """The secret, without the line feed that ends its file; "" when no place has it. SecretError when two variables
    say it, or its file cannot be read, is empty or too large."""
    told, file = environment.get(name, ""), environment.get(name + FILE_SUFFIX, "")
    if told and file:
        raise SecretError(f"{name} and {name}{FILE_SUFFIX} are both set; one of them is enough")
    if told:
        return told
    if file:
        return _read(name + FILE_SUFFIX, Path(file))
    credential = Path(environment.get(_CREDENTIALS, "")) / name
    return _read("credential", credential) if environment.get(_CREDENTIALS) and credential.exists() else ""


def _read(place: str, file: Path) -> str:
    try:
        with file.open("rb") as opened:
            data = opened.read(_LARGEST + 1)
        text = data.decode().rstrip("\r\n")
    except OSError as error:
        raise SecretError(f"{place}: cannot read {file}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise SecretError(f"{place}: {file} is not text") from error
    if not text or len(data) > _LARGEST:
        raise SecretError(f"{place}: {file} is {'too large for a secret' if text else 'empty'}")
    return text
