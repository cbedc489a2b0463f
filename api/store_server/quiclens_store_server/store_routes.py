"""The routes on which a served store is written to: rows of a named table, and named operations. RFC 9457 answers."""

import asyncio

from quiclens_schema.served import (
    OPERATION_PATH,
    PROBLEM_TYPE,
    ROWS_PATH,
    ROWS_TYPE,
    RefusalProblem,
    Stored,
    StoreOperation,
)
from quiclens_schema.store import StoreError
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from quiclens_store_server import bodies
from quiclens_store_server.holder import Holder
from quiclens_web.front import foreign
from quiclens_web.front.access import Role, visitor_of
from quiclens_web.front.concurrency import ConcurrencyLimit
from quiclens_web.front.faults import Fault
from quiclens_web.front.memory import MemoryBudget
from quiclens_web.front.metrics import StoreMetrics
from quiclens_web.front.parameters import refuse_unknown
from quiclens_web.front.settings import ServeSettings

_ARGUMENTS_BYTES = 65_536
_BUSY = (202, 241)  # TOO_MANY_SIMULTANEOUS_QUERIES, MEMORY_LIMIT_EXCEEDED
_NOT_FOUND = (60,)  # UNKNOWN_TABLE


class StoreRoutes:
    """The endpoints; the process's own store is behind `holder`."""

    def __init__(
        self,
        holder: Holder,
        settings: ServeSettings,
        inserts: ConcurrencyLimit,
        budget: MemoryBudget,
        metrics: StoreMetrics,
    ) -> None:
        self._holder = holder
        self._settings = settings
        self._limits = settings.limits
        self._inserts = inserts
        self._budget = budget
        self._metrics = metrics

    def routes(self) -> list[Route]:
        return [
            Route(ROWS_PATH, self._rows, methods=["POST"]),
            Route(OPERATION_PATH, self._operation, methods=["POST"]),
        ]

    async def _rows(self, request: Request) -> Response:
        """One complete Arrow IPC stream into a table of the catalogue; answered when it is stored."""
        try:
            self._check(request, Role.WRITER, Role.UPLOADER)
            refuse_unknown(request.query_params, ("rows",))
            if request.headers.get("content-type", "") != ROWS_TYPE:
                raise Fault(36, "BAD_ARGUMENTS", f"rows are sent as Content-Type: {ROWS_TYPE}", 415)
            rows = _number(request.query_params.get("rows", ""))
            table = request.path_params["table"]
            with self._budget.lease() as lease:
                most = self._limits.upload_bytes
                body = await bodies.received(request, most, self._limits.stall_seconds, lease)
                self._metrics.bytes_received.inc(len(body))
                encoding = request.headers.get("content-encoding", "")
                body = await bodies.plain(body, encoding, False, most, lease)
                async with self._inserts.one():
                    # It runs to its end even when the client goes away: it is then simply not acknowledged.
                    erased = await self._inserts.run(lambda: self._holder.insert(table, body, rows))
        except (Fault, StoreError) as error:
            return _problem(error)
        except ClientDisconnect:
            return Response(status_code=400)
        self._metrics.inserts.inc()
        self._metrics.rows_written.inc(rows - erased)
        return Response(Stored(rows=rows, erased=erased).model_dump_json(), media_type="application/json")

    async def _operation(self, request: Request) -> Response:
        """Run an operation to its end; arguments are a JSON object."""
        try:
            self._check(request, Role.WRITER)
            refuse_unknown(request.query_params, ())
            try:
                operation = StoreOperation(request.path_params["name"])
            except ValueError:
                there_are = ", ".join(each.value for each in StoreOperation)
                raise Fault(36, "BAD_ARGUMENTS", f"there is no such operation; there are {there_are}", 404) from None
            with self._budget.lease() as lease:
                stall_seconds = self._limits.stall_seconds
                arguments = _object(await bodies.received(request, _ARGUMENTS_BYTES, stall_seconds, lease))
            return Response(
                await asyncio.to_thread(self._holder.operate, operation, arguments), media_type="application/json"
            )
        except (Fault, StoreError) as error:
            return _problem(error)
        except ClientDisconnect:
            return Response(status_code=400)

    def _check(self, request: Request, *may: Role) -> None:
        if visitor_of(request).role not in may:
            raise Fault(497, "ACCESS_DENIED", "only a writer's token may do this")


def _number(text: str) -> int:
    read = foreign.whole_number(text, most_digits=11)
    if read is None:
        raise Fault(36, "BAD_ARGUMENTS", "rows=N says how many rows the stream has", 422)
    return read


def _object(body: bytes) -> dict[str, object]:
    found = foreign.json_object(body or b"{}")
    if found is None:
        raise Fault(36, "BAD_ARGUMENTS", "arguments are one JSON object", 422)
    return found


def _problem(error: Fault | StoreError) -> Response:
    if isinstance(error, Fault):
        status, title = error.status, error.name
    else:
        status = 503 if error.code in _BUSY else 404 if error.code in _NOT_FOUND else 422 if error.code else 500
        title = "the store refused"
    problem = RefusalProblem(title=title, status=status, detail=str(error).partition("\n")[0], engine_code=error.code)
    headers = {"Retry-After": "1"} if status in (429, 503) else {}
    return Response(problem.model_dump_json(exclude_none=True), status, headers, PROBLEM_TYPE)
