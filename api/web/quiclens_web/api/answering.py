"""From a question to an HTTP answer: a bounded store, a limit on how many run, one JSON document or one problem."""

import asyncio
import hashlib
import re
from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import Any, TypeVar

from fastapi import Request
from fastapi.exceptions import RequestValidationError
from quiclens_schema.store import Store, StoreError
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from quiclens_questions.document import document_text
from quiclens_questions.failure import CannotRun, Failure, UsageMistake
from quiclens_web.api.settings import ApiSettings
from quiclens_web.api.stopping import StoppableStore
from quiclens_web.front.concurrency import ConcurrencyLimit
from quiclens_web.front.faults import Fault
from quiclens_web.front.memory import MemoryBudget, MemoryLease
from quiclens_web.front.metrics import FrontMetrics
from quiclens_web.front.problems import KINDS, Answers, Problem, Stopped

_TOO_SLOW = (159, 160)  # TIMEOUT_EXCEEDED, TOO_SLOW
_TOO_MUCH = (158, 241, 307, 396)  # TOO_MANY_ROWS, MEMORY_LIMIT_EXCEEDED, TOO_MANY_BYTES, TOO_MANY_ROWS_OR_BYTES
_OPTION = re.compile(r"(?<![\w-])--([a-z]+(?:-[a-z]+)*)(?![\w-])")
_AGAIN_SECONDS = 0.2
_PIECE = 1 << 20
_OF_FAULTS = {413: "too_large", 429: "busy", 503: "no_memory"}

Document = Mapping[str, Any]
T = TypeVar("T")

_FAILURES = {
    401: "A token is needed.",
    403: "The token, or the page that asks, may not.",
    404: "There is no such thing.",
    422: "A parameter cannot be used, or the question needs too much.",
    429: "Too many questions at once, or too many wrong tokens.",
    500: "An unexpected error, which the log has under `instance`.",
    503: "The store does not answer, or too many bytes are held, or too many uploads are read, at once.",
    504: "The question took too long.",
}
FAILURES: dict[int | str, dict[str, Any]] = {
    status: {"model": Problem, "description": says} for status, says in _FAILURES.items()
}


class NotFound(Failure):
    """What was asked for is not there."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__("not_found", message, hint)


class Gone(Exception):
    """The client went away before its question was answered."""


class Questions:
    """The questions of one app: so many at once, about one store."""

    def __init__(self, settings: ApiSettings, metrics: FrontMetrics, budget: MemoryBudget) -> None:
        limits = settings.limits
        self.settings = settings
        self.store = settings.store.bounded(limits.settings())
        self.budget = budget
        self.given_up = metrics.questions_given_up
        self.limit = ConcurrencyLimit(
            "questions", limits.at_once, limits.wait_seconds, metrics.waiting, metrics.running
        )

    def close(self) -> None:
        self.limit.close()


class QuestionRunner:
    """The questions of one request."""

    def __init__(self, questions: Questions, request: Request) -> None:
        self._questions = questions
        self._request = request

    @property
    def settings(self) -> ApiSettings:
        return self._questions.settings

    async def document(self, question: Callable[[Store], Document], status: int = 200) -> Response:
        """The answer of a question, as JSON; 304 where who asks has it already."""
        lease = self._questions.budget.lease()
        try:
            body, etag = await self._run(lambda store: _with_etag(document_text(question(store)).encode()), lease)
            if len(body) > lease.size:
                raise Failure("too_much", "the answer is too large", "a shorter stretch of time, or more conditions")
        except BaseException:
            lease.shrink(lease.size)
            raise
        headers = {"ETag": etag, "Cache-Control": "private, no-cache"} if self._request.method == "GET" else {}
        if headers and _is_known(etag, self._request.headers.getlist("if-none-match")):
            lease.shrink(lease.size)
            return Response(status_code=304, headers=headers)
        lease.shrink(lease.size - len(body))
        return _Held(body, status, headers, lease)

    async def run(self, question: Callable[[Store], T]) -> T:
        """What a question answers; Failure with a code of ours and no word of SQL.

        The question runs in a thread. When the client goes away its statements are killed, and `Gone` is raised.
        """
        with self._questions.budget.lease() as lease:
            return await self._run(question, lease)

    async def _run(self, question: Callable[[Store], T], lease: MemoryLease) -> T:
        questions = self._questions
        gone = asyncio.create_task(client_gone(self._request))
        try:
            async with questions.limit.one():
                lease.grow(self.settings.limits.answer_bytes)  # what its rows may take, before their text is known
                store = StoppableStore(questions.store)
                work = asyncio.ensure_future(questions.limit.run(lambda: question(store)))
                try:
                    await asyncio.wait({work, gone}, return_when=asyncio.FIRST_COMPLETED)
                finally:
                    if not work.done():
                        questions.given_up.inc()
                        await _stopped(store, work)
                if gone.done():
                    work.exception()  # an answer, or that it was killed: nobody waits for either
                    raise Gone
                return work.result()
        except StoreError as error:
            raise failure_of(error) from error
        finally:
            gone.cancel()


class _Held(Response):
    """A document that counts against the memory budget until it was sent."""

    def __init__(self, body: bytes, status: int, headers: Mapping[str, str], lease: MemoryLease) -> None:
        super().__init__(body, status, headers, media_type="application/json")
        self._lease = lease

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with self._lease:
            await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
            # In pieces, so that what the client has not taken yet is held once, here, and not in the socket's buffer.
            for at in range(0, max(len(self.body), 1), _PIECE):
                piece, more = self.body[at : at + _PIECE], at + _PIECE < len(self.body)
                await send({"type": "http.response.body", "body": piece, "more_body": more})


def _with_etag(body: bytes) -> tuple[bytes, str]:
    """A document and its tag (RFC 9110, 8.8.3): a weak one, since the same document may be sent compressed."""
    return body, f'W/"{hashlib.blake2b(body, digest_size=16).hexdigest()}"'


def _is_known(etag: str, headers: list[str]) -> bool:
    """Whether `If-None-Match` has the tag, compared weakly (RFC 9110, 8.8.3.2), or any."""
    tags = [each.strip().removeprefix("W/") for header in headers for each in header.split(",")]
    return "*" in tags or etag.removeprefix("W/") in tags


async def client_gone(request: Request) -> None:
    """Ends when the client is gone; what came of a body was read before."""
    while (await request.receive())["type"] != "http.disconnect":
        pass


async def _stopped(store: StoppableStore, work: "asyncio.Future[Any]") -> None:
    """Stop a question and wait for its thread, whose place is taken until then."""
    while not work.done():
        await asyncio.to_thread(store.stop)
        await asyncio.wait({work}, timeout=_AGAIN_SECONDS)


async def asking(request: Request) -> QuestionRunner:
    """For a route to depend on."""
    return QuestionRunner(request.app.state.questions, request)


def failure_of(error: StoreError) -> Failure:
    """The store's trouble in words that say what to change, without the statement."""
    if error.code in _TOO_SLOW:
        return Failure("too_slow", "the question took too long", "a shorter stretch of time, or more conditions")
    if error.code in _TOO_MUCH:
        return Failure("too_much", "the question needs too much", "a shorter stretch of time, or more conditions")
    return CannotRun("store_failed", "the store could not answer", "quiclens status says how it is")


def answer_failure(request: Request, failure: Exception) -> Response:
    """A failure of ours: 4xx says what to change, 5xx that it is not the fault of who asked."""
    assert isinstance(failure, Failure)
    is_told = failure.code in KINDS
    code = "usage" if isinstance(failure, UsageMistake) and not is_told else failure.code
    names = request.app.state.parameters
    return _answers(request).problem(
        request.scope,
        code if code != "too_many_connections" else "too_much",
        _as_parameters(failure.message, names),
        _as_parameters(failure.hint, names),
    )


def answer_stopped(request: Request, stopped: Exception) -> Response:
    """A request that was ended on purpose."""
    assert isinstance(stopped, Stopped)
    return _answers(request).stopped(request.scope, stopped)


def answer_fault(request: Request, fault: Exception) -> Response:
    """What all doors share, limits above all, is told as ClickHouse's interface would; here it is a problem."""
    assert isinstance(fault, Fault)
    code = _OF_FAULTS.get(fault.status, "store_failed")
    hint = "ask again in a moment" if fault.retry_after_seconds else ""
    return _answers(request).problem(
        request.scope, code, str(fault), hint, fault.status, retry_after_seconds=fault.retry_after_seconds
    )


def answer_invalid(request: Request, invalid: Exception) -> Response:
    """A parameter of a wrong type or out of bounds."""
    assert isinstance(invalid, RequestValidationError)
    first = invalid.errors()[0]
    place = ".".join(str(part) for part in first["loc"] if part not in ("query", "path", "body"))
    detail = f"{place}: {first['msg']}" if place else str(first["msg"])
    return _answers(request).problem(request.scope, "usage", detail, "/api/docs has every parameter")


def answer_http(request: Request, error: Exception) -> Response:
    """What the routing itself refuses: an address or a method that is not there, a body that is too large."""
    assert isinstance(error, HTTPException)
    code = {404: "unknown_address", 405: "wrong_method", 413: "too_large"}.get(error.status_code, "usage")
    detail = {
        404: f"there is no address {request.url.path[:200]}",
        405: f"this address does not take {request.method}",
    }.get(error.status_code, str(error.detail) or HTTPStatus(error.status_code).phrase)
    answer = _answers(request).problem(request.scope, code, detail, "/api/docs has every address", error.status_code)
    answer.headers.update(error.headers or {})
    return answer


def answer_gone(request: Request, gone: Exception) -> Response:
    """Nobody is there to read it; the status is nginx's for that, and counted."""
    return Response(status_code=499)


def answer_unexpected(request: Request, error: Exception) -> Response:
    """An error of ours; `observed.py` logs it."""
    return _answers(request).unexpected(request.scope)


HANDLERS: Mapping[type[Exception], Callable[[Request, Exception], Response]] = {
    Failure: answer_failure,
    Stopped: answer_stopped,
    Fault: answer_fault,
    RequestValidationError: answer_invalid,
    HTTPException: answer_http,
    Gone: answer_gone,
    ClientDisconnect: answer_gone,
    Exception: answer_unexpected,
}
"""How every failure is answered. An app with these has `answers` and `parameters` in its state."""


def _answers(request: Request) -> Answers:
    found: Answers = request.app.state.answers
    return found


def _as_parameters(text: str, names: frozenset[str]) -> str:
    """The same mistakes are told on the command line; an option that is a parameter here is written as one."""

    def written(match: re.Match[str]) -> str:
        name = match[1].replace("-", "_")
        return name if name in names else match[0]

    return _OPTION.sub(written, text)
