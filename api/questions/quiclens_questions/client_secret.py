"""The secret that keys clients' hashes: by the key of its address and port a line finds the trace of its client.

Everything that is loaded into one store needs the same one, and whoever has it can find out which client a key is of.
"""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from quiclens_schema import key_file
from quiclens_schema.store import Store

from quiclens_questions.failure import CannotRun
from quiclens_questions.given_secret import given_secret

VARIABLE = "QUICLENS_CLIENT_SECRET"
FILE = "client.key"
"""In the folder of an embedded store, made on first use."""


@contextmanager
def client_secret(store: Store) -> Iterator[Path | None]:
    """A file with the deployment's secret, else with the store's own; None for a server's store where nobody gave one:
    its lines and traces meet by their ids alone. UsageMistake and CannotRun for secrets that cannot be had."""
    if told := given_secret(VARIABLE):
        with tempfile.NamedTemporaryFile("w", prefix="client-", suffix=".key") as file:
            file.write(told)
            file.flush()
            yield Path(file.name)
        return
    folder = store.local_folder
    yield None if folder is None else _own(folder / FILE)


def _own(path: Path) -> Path:
    try:
        if not path.exists():
            key_file.make(path)
    except OSError as error:
        raise CannotRun("cannot_write", f"cannot write {path}: {error.strerror}") from error
    return path
