"""A store whose statements can be stopped from another thread: those of one question, when nobody waits for it."""

import logging
from collections.abc import Iterator, Mapping
from itertools import count
from threading import Event
from typing import Any
from uuid import uuid4

from quiclens_schema.store import Result, Store, StoreError

log = logging.getLogger("quiclens.serve")


class GivenUp(StoreError):
    """The question was stopped because nobody waits for its answer."""


class StoppableStore(Store):
    """A view on an open store. Each statement carries the question's mark, by which `stop` finds those that run."""

    def __init__(self, store: Store) -> None:
        self.__dict__.update(store.__dict__)  # as `Store.bounded` copies: the same handles, which the original closes
        self._original = store
        self._mark = f"quiclens-question-{uuid4().hex}"
        self._numbers = count(1)
        self._running: set[str] = set()
        self._is_stopped = Event()

    def query(
        self, sql: str, parameters: Mapping[str, Any] | None = None, settings: Mapping[str, Any] | None = None
    ) -> Result:
        with _Statement(self) as marks:
            return super().query(sql, parameters, {**(settings or {}), **marks})

    def stream_arrow(
        self, sql: str, parameters: Mapping[str, Any] | None = None, settings: Mapping[str, Any] | None = None
    ) -> Iterator[bytes]:
        with _Statement(self) as marks:
            yield from super().stream_arrow(sql, parameters, {**(settings or {}), **marks})

    def stop(self) -> None:
        """Let no statement begin, and kill what runs. A server may not let us: then its statement runs to its limit."""
        self._is_stopped.set()
        try:
            if self.is_embedded:
                self._original.command(f"KILL QUERY WHERE Settings['log_comment'] = '{self._mark}' ASYNC")
                return
            for query_id in list(self._running):
                self._original.query(f"KILL QUERY WHERE query_id = '{query_id}' ASYNC")
        except StoreError as error:
            log.warning("a question that nobody waits for could not be stopped: %s", str(error).partition("\n")[0])


class _Statement:
    """One statement that runs: known while it does, by settings that are its marks."""

    def __init__(self, store: StoppableStore) -> None:
        self._store = store
        self._query_id = f"{store._mark}-{next(store._numbers)}"

    def __enter__(self) -> Mapping[str, str]:
        if self._store._is_stopped.is_set():
            raise GivenUp("the question was given up")
        self._store._running.add(self._query_id)
        return {"log_comment": self._store._mark} if self._store.is_embedded else {"query_id": self._query_id}

    def __exit__(self, *_: object) -> None:
        self._store._running.discard(self._query_id)
