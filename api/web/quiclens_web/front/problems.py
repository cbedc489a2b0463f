"""Failures as RFC 9457 has them, in one place: `application/problem+json` for programs, a page for a person's browser,
and ClickHouse's own form where its HTTP interface was spoken to.

`type` leads to the page that describes the API, at the problem's code; `instance` is the id of the request, which the
log and the audit log carry too; `code` and `hint` are extensions, for programs and for people.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

from pydantic import BaseModel
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Scope

from quiclens_questions.document import document_text
from quiclens_web.front.faults import Fault
from quiclens_web.pages.page import page

MEDIA_TYPE = "application/problem+json"


class Problem(BaseModel):
    """RFC 9457, and two members of ours."""

    type: str
    title: str
    status: int
    detail: str
    instance: str
    code: str
    hint: str


@dataclass(frozen=True, slots=True)
class ProblemKind:
    """One kind of problem: its status unless said otherwise, and its title, which is always the same."""

    status: int
    title: str


KINDS: Mapping[str, ProblemKind] = {
    "no_request": ProblemKind(400, "This is no HTTP request."),
    "head_too_large": ProblemKind(431, "The head of the request is too large."),
    "usage": ProblemKind(422, "A parameter cannot be used."),
    "unknown_parameter": ProblemKind(422, "This address has no such parameter."),
    "too_much": ProblemKind(422, "The question needs too much."),
    "no_trace": ProblemKind(422, "No trace was found in the file."),
    "token_needed": ProblemKind(401, "A token is needed."),
    "not_let_in": ProblemKind(403, "This is not allowed."),
    "wrong_token": ProblemKind(403, "The token is wrong."),
    "too_many_attempts": ProblemKind(429, "Too many wrong tokens came from this address."),
    "not_found": ProblemKind(404, "It is not in the store."),
    "unknown_address": ProblemKind(404, "There is no such address."),
    "wrong_method": ProblemKind(405, "This address does not take this method."),
    "too_large": ProblemKind(413, "The body is too large."),
    "busy": ProblemKind(429, "Too many requests at once."),
    "internal": ProblemKind(500, "An unexpected error."),
    "no_memory": ProblemKind(503, "Too many bytes are held at once."),
    "too_many_uploads": ProblemKind(503, "Too many uploads are read at once."),
    "unwell": ProblemKind(503, "This process cannot do its work."),
    "store_failed": ProblemKind(503, "The store cannot answer."),
    "too_slow": ProblemKind(504, "The question took too long."),
}
"""Every code; what else stops a question, of the store or of the collector, is told as `store_failed`'s kind."""

_TRY_AGAIN_SECONDS = {429: 1, 503: 1}


class Stopped(Exception):
    """A request that ends here, with a problem."""

    def __init__(self, code: str, detail: str, hint: str = "", *, retry_after_seconds: int = 0) -> None:
        super().__init__(detail)
        self.code = code
        self.detail = detail
        self.hint = hint
        self.status = kind_of(code).status
        self.retry_after_seconds = retry_after_seconds or _TRY_AGAIN_SECONDS.get(self.status, 0)


def kind_of(code: str) -> ProblemKind:
    """What a code means; codes of the store and of the collector are all of one kind."""
    return KINDS.get(code, KINDS["store_failed"])


def request_id(scope: Scope) -> str:
    """The id of a request: that of its answer's `X-Request-Id`, of the log and of the audit log."""
    state: dict[str, Any] = scope.setdefault("state", {})
    return str(state.setdefault("request_id", str(uuid4())))


def problem_text(id: str, code: str, detail: str, hint: str = "", status: int = 0) -> str:
    """The document of a problem that the request `id` met."""
    kind = kind_of(code)
    document = Problem(
        type=f"/api/docs#{code}",
        title=kind.title,
        status=status or kind.status,
        detail=detail,
        instance=f"urn:uuid:{id}",
        code=code,
        hint=hint,
    )
    return document_text(document.model_dump())


@dataclass(frozen=True, slots=True)
class Answers:
    """How a failure is answered, by who asked."""

    is_clickhouse: Callable[[Scope], bool] = field(default=lambda _: False)
    """Whether a request speaks ClickHouse's HTTP interface."""

    def problem(
        self, scope: Scope, code: str, detail: str, hint: str = "", status: int = 0, retry_after_seconds: int = 0
    ) -> Response:
        """The answer to a request that failed."""
        kind = kind_of(code)
        status = status or kind.status
        headers = {"Retry-After": str(retry_after_seconds)} if retry_after_seconds else {}
        if self.is_clickhouse(scope):
            return _as_clickhouse(scope, code, detail, status, headers)
        if wants_page(scope) and not scope["path"].startswith(("/api/", "/store/")):
            answer = page("message.html", status=status, message=_sentence(detail), hint=_sentence(hint))
            answer.headers.update(headers)
            return answer
        if status == 401:
            headers["WWW-Authenticate"] = 'Bearer realm="quiclens"'
        return Response(problem_text(request_id(scope), code, detail, hint, status), status, headers, MEDIA_TYPE)

    def stopped(self, scope: Scope, stopped: Stopped) -> Response:
        """The answer to a request that was ended on purpose."""
        return self.problem(
            scope, stopped.code, stopped.detail, stopped.hint, retry_after_seconds=stopped.retry_after_seconds
        )

    def unexpected(self, scope: Scope) -> Response:
        """The answer to a request on which we failed: nothing of the error but the id, by which the log has it."""
        told = f"an unexpected error; the log has it under {request_id(scope)}"
        return self.problem(scope, "internal", told, "tell who runs this server, with the id")


def wants_page(scope: Scope) -> bool:
    """Whether it is a browser that a person looks at."""
    return "text/html" in Request(scope).headers.get("accept", "")


def _as_clickhouse(scope: Scope, code: str, detail: str, status: int, headers: dict[str, str]) -> Response:
    if status in (401, 403) or code == "too_many_attempts":
        number, name = 516, "AUTHENTICATION_FAILED"
    elif status in (429, 503):
        number, name = 202, "TOO_MANY_SIMULTANEOUS_QUERIES"
    else:
        number, name = 1002, "UNKNOWN_EXCEPTION"
    fault = Fault(number, name, detail, status)
    headers["X-ClickHouse-Exception-Code"] = str(number)
    if status == 401:
        headers["WWW-Authenticate"] = 'Basic realm="ClickHouse server HTTP API"'
    return Response(fault.body, status, headers, "text/plain; charset=UTF-8")


def _sentence(words: str) -> str:
    return words[:1].upper() + words[1:]
