"""Opening the store a command speaks of, with an answer for every way in which that fails."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from quiclens_schema import store as stores
from quiclens_schema.store import Store, StoreBusy, StoreError

from quiclens_api.failure import CannotRun

_UNKNOWN_TABLE = 60
_UNKNOWN_COLUMN = 47


@contextmanager
def opened(url: str, *, create: bool = False) -> Iterator[Store]:
    """The store, closed afterwards. A question never makes a store: that is for `load` and `migrate`."""
    try:
        where = stores.place(url)
        if where.is_embedded and not create and not _is_there(where.folder):
            raise CannotRun("no_store", f"there is no store at {url}", "load something first: quiclens load PATH…")
        with stores.open(url) as store:
            yield store
    except StoreBusy as error:
        raise CannotRun("store_busy", str(error), "one process at a time may own an embedded store") from error
    except StoreError as error:
        raise _cannot_run(error) from error


def _is_there(folder: str) -> bool:
    return Path(folder).is_dir() and any(Path(folder).iterdir())


def _cannot_run(error: StoreError) -> CannotRun:
    text = str(error)
    if error.code in (_UNKNOWN_TABLE, _UNKNOWN_COLUMN) or "UNKNOWN_TABLE" in text:
        message = "the store's tables are missing or older than this quiclens"
        return CannotRun("store_not_migrated", message, "quiclens migrate")
    return CannotRun("store_failed", text.splitlines()[0] if text else "the store failed")
