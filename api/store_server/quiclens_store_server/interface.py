"""One request of the ClickHouse HTTP interface, from its headers to its answer. It is for reading alone."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, ExitStack, suppress
from dataclasses import dataclass
from typing import TypeVar

from starlette.requests import Request
from starlette.types import Receive, Scope, Send

from quiclens_store_server import bodies, pieces, protocol
from quiclens_store_server.answers import AnswerSender
from quiclens_store_server.engine import Engine, Handle, Pieces, RowWriter
from quiclens_store_server.judge import Judge, Verdict
from quiclens_store_server.protocol import StatementRequest
from quiclens_store_server.running import ReceiverGone, Run, RunningRequests
from quiclens_store_server.spooled import IN_MEMORY_BYTES, SpooledAnswer
from quiclens_web.front.access import Role, is_owner, visitor_of
from quiclens_web.front.concurrency import ConcurrencyLimit
from quiclens_web.front.faults import Fault, Refused, too_large
from quiclens_web.front.memory import MemoryBudget, MemoryLease
from quiclens_web.front.metrics import StoreMetrics
from quiclens_web.front.settings import ServeSettings

T = TypeVar("T")

# Of a statement at one time: its body, joined with its parameter, as the engine writes it, and runs it. Text of Python
# with letters beyond ASCII may take four times as much.
_TEXT_COPIES, _MORE_OF_WIDE_TEXT = 4, 3
_TREE_BYTES_PER_BYTE = 600  # of the tree by which a statement is judged, for each byte of its text, measured
_LARGEST_TREE_BYTES = 64 << 20  # since the engine takes 50,000 nodes
_SMALL_TREE_BYTES = 1 << 20  # up to which judging waits for nobody
_AT_ONCE_BYTES = 1 << 20  # an answer up to this size is sent whole, with its length
_TRIES = 3  # of a statement that finds rows in every other moment; what it says in the last one is told
_TOO_MANY_ROWS = 396  # TOO_MANY_ROWS_OR_BYTES
_BOUNDS_OF_WRITING = ("max_memory_usage", "max_execution_time")  # as those of the statement, and in the same places


class _RowsCame(Fault):
    """A statement that had no row a moment ago has some now: the store grows."""


@dataclass(frozen=True, slots=True)
class Parts:
    """What requests share."""

    settings: ServeSettings
    engine: Engine
    judge: Judge
    running: RunningRequests
    queries: ConcurrencyLimit
    owners_queries: ConcurrencyLimit  # those of the store's own user, who waits for nobody else
    judging: ConcurrencyLimit  # of large statements
    whole: ConcurrencyLimit  # of queries whose answers are written once all rows are known
    budget: MemoryBudget
    metrics: StoreMetrics


@dataclass(frozen=True, slots=True)
class _Query:
    """A statement that may run, and whose it is."""

    asked: StatementRequest
    text: str
    format: str
    settings: Mapping[str, str]  # of the request
    verdict: Verdict
    run: Run
    queries: ConcurrencyLimit
    gone: "asyncio.Task[None]"


class Interface:
    """The ASGI endpoint at `/`."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._limits = parts.settings.limits
        self._owners_limits = self._limits.of_owner()
        self._metrics = parts.metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        sender = AnswerSender(send, self._metrics, self._limits.stall_seconds, self._parts.engine.timezone)
        try:
            role = visitor_of(request).role
            if not self._parts.settings.has_sql and not is_owner(request):
                raise Refused("SQL is not answered here: it is for loopback addresses, unless serve was given --sql")
            with self._parts.budget.lease() as lease:
                await self._serve(request, role, lease, sender)
        except Fault as fault:
            if request.headers.get("content-length", "0") != "0" or "transfer-encoding" in request.headers:
                sender.headers["Connection"] = "close"  # what is left of the body is not read
            await sender.fault(fault)
        except (ReceiverGone, bodies.ClientDisconnect):
            return

    async def _serve(self, request: Request, role: Role, lease: MemoryLease, sender: AnswerSender) -> None:
        began = time.perf_counter()
        given = list(request.query_params.multi_items())
        is_form = request.headers.get("content-type", "").startswith("multipart/form-data")
        if is_form:
            given += await bodies.form(request, self._limits, lease)
        asked = protocol.read(given, request.headers)
        sender.headers["X-ClickHouse-Query-Id"] = asked.query_id
        most = min(self._limits.text_bytes, self._limits.upload_bytes)
        body = b"" if is_form else await bodies.received(request, most, self._limits.stall_seconds, lease)
        self._metrics.bytes_received.inc(len(body))
        protocol.refuse_settings(asked.settings)
        encoding = request.headers.get("content-encoding", "")
        body = await bodies.plain(body, encoding, asked.is_framed_in, most, lease)
        if not asked.query and not body and request.method in ("GET", "HEAD"):
            await sender.whole(b"Ok.\n")
            return
        sql = b"\n".join(part for part in (asked.query.encode(), body) if part)
        if len(sql) > most:
            raise too_large(most)
        lease.grow(len(sql) * (_TEXT_COPIES + (0 if sql.isascii() else _MORE_OF_WIDE_TEXT)))
        gone = asyncio.create_task(_gone(request))
        try:
            with self._parts.running.one(asked.query_id, role) as run:
                await self._query(asked, sql, run, sender, gone, is_owner(request))
            self._metrics.seconds.labels("query").observe(time.perf_counter() - began)
        finally:
            gone.cancel()

    async def _query(
        self,
        asked: StatementRequest,
        sql: bytes,
        run: Run,
        sender: AnswerSender,
        gone: "asyncio.Task[None]",
        is_ours: bool,
    ) -> None:
        parts = self._parts
        limits = self._owners_limits if is_ours else self._limits
        queries = parts.owners_queries if is_ours else parts.queries
        try:
            text = sql.decode()
        except UnicodeDecodeError as error:
            raise Fault(62, "SYNTAX_ERROR", f"Syntax error: the statement is no UTF-8: {error}") from error
        settings = protocol.capped(asked.settings, limits)
        with ExitStack() as held:

            def judged() -> tuple[Handle, Verdict]:
                handle = held.enter_context(parts.engine.handle(asked.database, settings, run.tag))
                return handle, parts.judge.verdict(handle, text, asked.default_format)

            handle, verdict = await self._judged(len(sql), judged, is_ours)
            self._metrics.queries.inc()
            if verdict.kills:
                await sender.whole((await parts.running.kill(verdict.kills, run.role)).encode())
                return
            if verdict.normal == protocol.GREETING:
                if not asked.protocol_version or asked.default_format != "Native":
                    raise Refused("Function displayName is refused over HTTP: it is none that a reader needs")
                sender.is_of("Native")
                await self._finish(sender, asked, _greeting(parts.engine), {})
                return
            protocol.check_settings(verdict.settings, limits)
            format = verdict.format or asked.default_format
            is_streamed = verdict.is_select and pieces.is_streamed(format, {**settings, **verdict.settings})
            is_collected = verdict.is_select and not is_streamed and not is_ours
            text = protocol.runs_as(verdict.normal, text)
            query = _Query(asked, text, format, settings, verdict, run, queries, gone)
            async with AsyncExitStack() as places:
                if is_collected:
                    await places.enter_async_context(parts.whole.one())
                await places.enter_async_context(queries.one())
                await queries.run(lambda: handle.restrict(verdict.settings))
                answer = self._stream if is_streamed else self._collect if is_collected else self._at_once
                try:
                    await self._until_rows_stand(lambda: answer(query, handle, sender))
                except ReceiverGone:
                    self._metrics.cancelled.inc()
                    raise

    async def _judged(self, size: int, judged: Callable[[], T], is_ours: bool) -> T:
        """Judge a statement of so many bytes. Of large ones some at a time, so that they do not have the whole budget;
        small ones wait for nobody, so that a query can be killed while all the others that may run do."""
        parts, held = self._parts, min(size * _TREE_BYTES_PER_BYTE, _LARGEST_TREE_BYTES)
        async with AsyncExitStack() as places:
            waits = held > _SMALL_TREE_BYTES and not is_ours
            if waits:
                await places.enter_async_context(parts.judging.one())
            with parts.budget.lease() as tree:
                tree.grow(held)
                return await (parts.judging.run(judged) if waits else asyncio.to_thread(judged))

    async def _until_rows_stand(self, answer: Callable[[], Awaitable[None]]) -> None:
        """Answer, and once more where a statement had no row, and had some when it was asked for its names alone."""
        for _ in range(_TRIES):
            with suppress(_RowsCame):
                return await answer()
        await answer()

    async def _at_once(self, query: "_Query", handle: Handle, sender: AnswerSender) -> None:
        """Answer with what the engine makes in one go."""
        answer = await self._watched(query, lambda: handle.run(query.text, query.asked.parameters, query.format))
        if answer.data:
            sender.is_of(query.format)
        await self._finish(sender, query.asked, answer.data, answer.counts)

    async def _collect(self, query: "_Query", handle: Handle, sender: AnswerSender) -> None:
        """Answer in a format that is written once all rows are known."""
        judge, parameters = self._parts.judge, query.asked.parameters
        text = await asyncio.to_thread(judge.in_format, handle, query.verdict, pieces.ROWS)
        found = await self._watched(query, lambda: handle.stream(text, parameters, pieces.ROWS))
        rows = pieces.Collected(self._limits.whole_bytes, query.format)
        is_ended = False
        try:
            while not is_ended:
                before = found.rows
                piece = await self._watched(query, found.next)
                is_ended = not piece
                if piece:
                    rows.add(piece, found.rows - before)
        finally:
            if not is_ended:
                await query.queries.run(lambda: _give_up(found))
        data = rows.rows()
        if not data:
            await self._without_rows(query, sender)
            return
        own = query.verdict.settings
        engine = self._parts.engine
        bounds = {name: own.get(name, query.settings[name]).strip("'") for name in _BOUNDS_OF_WRITING}
        with ExitStack() as held:

            def opened() -> RowWriter:
                return held.enter_context(engine.writer(query.settings, own, bounds, query.run.tag))

            writer = await query.queries.run(opened)
            answer = await self._watched(query, lambda: writer.document(data, rows.selected, query.format))
        sender.is_of(query.format)
        await self._finish(sender, query.asked, answer.data, {"result_rows": found.rows, "read_rows": found.rows_read})

    async def _without_rows(self, query: "_Query", sender: AnswerSender) -> None:
        """Answer a statement that has just found no row, for which the engine gives no piece, with a document of names
        alone. It runs again, on a handle that takes one row at most: _RowsCame where it has more by now."""
        bounds = {"max_result_rows": "1", "max_result_bytes": str(self._limits.whole_bytes)}
        if own := sorted(bounds.keys() & query.verdict.settings.keys()):
            raise Refused(f"An answer without rows in {query.format} is none for a statement that sets {own[0]} itself")
        with ExitStack() as held:

            def opened() -> Handle:
                settings = {**query.settings, **bounds}
                handle = held.enter_context(self._parts.engine.handle(query.asked.database, settings, query.run.tag))
                handle.restrict(query.verdict.settings)
                return handle

            try:
                await self._at_once(query, await query.queries.run(opened), sender)
            except Fault as fault:
                if fault.code != _TOO_MANY_ROWS:
                    raise
                raise _RowsCame(fault.code, fault.name, str(fault)) from fault

    async def _watched(self, query: "_Query", call: Callable[[], T]) -> T:
        return await self._parts.running.watched(query.run, query.queries.run(call), query.gone)

    async def _stream(self, query: "_Query", handle: Handle, sender: AnswerSender) -> None:
        """Answer piece by piece. What fits in one piece is sent whole, the rest as it comes, or from its end on when
        that was asked for."""
        asked, format = query.asked, query.format
        found = await self._watched(query, lambda: handle.stream(query.text, asked.parameters, format))
        joined = pieces.Joined(format)

        async def next_piece() -> bytes | None:
            piece = await self._watched(query, found.next)
            return joined.next(piece) if piece else None

        answer = SpooledAnswer(next_piece, self._limits.result_bytes)
        try:
            with answer:
                await answer.wait(None if asked.is_whole else _AT_ONCE_BYTES)
                if answer.is_ended and not answer.size and format.lower() in pieces.HEADED:
                    await self._without_rows(query, sender)
                    return
                sender.is_of(format)
                if answer.is_ended and answer.size <= IN_MEMORY_BYTES:
                    counts = {"result_rows": found.rows, "read_rows": found.rows_read}
                    await self._finish(sender, asked, answer.whole(), counts)
                    return
                sender.headers["X-ClickHouse-Summary"] = protocol.summary({})
                encoder, encoding = protocol.encoder_of(asked, None)
                await sender.streamed(answer.rest(), encoder, encoding)
        finally:
            if not answer.is_ended:
                await query.queries.run(lambda: _give_up(found))

    async def _finish(
        self, sender: AnswerSender, asked: StatementRequest, data: bytes, counts: Mapping[str, int]
    ) -> None:
        sender.headers["X-ClickHouse-Summary"] = protocol.summary({"result_bytes": len(data), **counts})
        encoder, encoding = protocol.encoder_of(asked, len(data))
        await sender.whole(data, 200, encoder, encoding)


async def _gone(request: Request) -> None:
    """Ends when the client is gone; the body was read before."""
    while (await request.receive())["type"] != "http.disconnect":
        pass


def _give_up(found: Pieces) -> None:
    """Close an answer that was cut short; that it was cancelled is no news."""
    with suppress(Fault):
        found.close()


def _greeting(engine: Engine) -> bytes:
    """What clickhouse-go asks first and decodes as revision 54460 whatever the server is; then it speaks revision 0."""

    def text(value: str) -> bytes:
        return bytes([len(value.encode())]) + value.encode()

    block = b"\x01\x00\x02\xff\xff\xff\xff\x00" + b"\x04\x01"  # BlockInfo, 4 columns, 1 row
    for name, type_, data in (
        ("displayName()", "String", text("quiclens")),
        ("version()", "String", text(engine.version)),
        ("revision()", "UInt32", bytes(4)),
        ("timezone()", "String", text(engine.timezone)),
    ):
        block += text(name) + text(type_) + b"\x00" + data  # no custom serialization
    return block
