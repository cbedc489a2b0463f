"""A store that a process of quiclens holds and serves.

What reads is SQL, through that process's ClickHouse interface. Rows go to a named table as an Arrow stream, and what
changes the store otherwise is a named operation that the process runs itself: no statement is sent for either.
"""

from collections.abc import Collection, Mapping
from enum import StrEnum
from typing import Any, TypeVar
from urllib.parse import quote

from pydantic import BaseModel, TypeAdapter, ValidationError
from urllib3.exceptions import HTTPError

from quiclens_schema.store import Store, StoreError, StorePlace, key_header, requests_to

ROWS_PATH = "/store/tables/{table}/rows"
OPERATION_PATH = "/store/operations/{name}"
ROWS_TYPE = "application/vnd.apache.arrow.stream"
PROBLEM_TYPE = "application/problem+json"  # RFC 9457

T = TypeVar("T")


class StoreOperation(StrEnum):
    """What a process that holds a store does when it is asked to."""

    MIGRATE = "migrate"
    LINK = "link"
    LINK_CHANGED = "link-changed"
    RETENTION = "retention"
    ERASE = "erase"


class RefusalProblem(BaseModel):
    """What a refusal says: RFC 9457, and ClickHouse's code where the engine refused."""

    title: str
    status: int
    detail: str = ""
    engine_code: int | None = None


class Stored(BaseModel):
    """What became of the rows that were sent: all are stored, but those of what was erased."""

    rows: int
    erased: int = 0


class ServedStore(Store):
    """The store of another process, for reading, for rows, and for operations. Made by `store.open`."""

    def __init__(self, where: StorePlace) -> None:
        self._http, self._base = requests_to(where)
        super().__init__(where)

    def command(
        self, sql: str, parameters: Mapping[str, Any] | None = None, settings: Mapping[str, Any] | None = None
    ) -> None:
        """StoreError, always: the process that holds the store takes no statements that write."""
        raise StoreError("the store is served by another process, which takes no statements that write")

    def insert_arrow(self, table: str, stream: bytes, rows: int, newer: Collection[str] = ()) -> int:
        """Send one complete Arrow IPC stream; it is stored when this returns. As `Store.insert_arrow`; whether it has
        columns of a `newer` catalogue, the process knows that holds the store."""
        self._columns_of(table, stream, newer)
        path = ROWS_PATH.format(table=quote(table, safe=""))
        return TypeAdapter(Stored).validate_json(self._post(f"{path}?rows={rows}", stream, ROWS_TYPE)).erased

    def operate(self, operation: StoreOperation, result: type[T], arguments: Mapping[str, Any] | None = None) -> T:
        """Have the process run an operation to its end; what it answers is read as `result`, a dataclass or model."""
        body = TypeAdapter(dict[str, Any]).dump_json(dict(arguments or {}))
        answer = self._post(OPERATION_PATH.format(name=operation.value), body, "application/json")
        try:
            return TypeAdapter(result).validate_json(answer)
        except ValidationError as error:
            raise StoreError(f"{operation}: the process that serves the store is of another version") from error

    def _post(self, path: str, body: bytes, kind: str) -> bytes:
        headers = {**key_header(self._place), "Content-Type": kind}
        try:
            # An answer may take as long as linking takes, so there is no time limit; a lost connection is an error.
            answer = self._http.request("POST", f"{self._base}{path}", body=body, headers=headers, retries=False)
        except HTTPError as error:
            raise StoreError(f"the process that serves the store does not answer: {error}") from error
        if 200 <= answer.status < 300:
            return answer.data
        try:
            problem = RefusalProblem.model_validate_json(answer.data)
        except ValidationError as error:
            raise StoreError(f"the process that serves the store answered HTTP {answer.status} to {path}") from error
        raise StoreError(problem.detail or problem.title, code=problem.engine_code)
