"""Files with a random key, made on first use by whoever comes first."""

import os
import secrets
from pathlib import Path

KEY_BYTES = 32


def make(path: Path) -> None:
    """A new key as hex digits, for this user alone: whole or not at all, and never over another's. OSError where it
    cannot be written."""
    draft = path.with_name(f"{path.name}.{secrets.token_hex(8)}")
    try:
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(secrets.token_hex(KEY_BYTES) + "\n")
            file.flush()
            os.fsync(file.fileno())
        try:
            os.link(draft, path)
        except FileExistsError:  # another was quicker, and its key counts
            return
    finally:
        draft.unlink(missing_ok=True)
