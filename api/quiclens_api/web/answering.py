"""From a question to an HTTP answer: a bounded store, a turn, one JSON document; a failure is one too, or a page."""

import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from threading import BoundedSemaphore
from typing import Any
from urllib.parse import urlencode

from fastapi import Request
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel
from quiclens_schema.store import Store, StoreError
from starlette.responses import RedirectResponse, Response

from quiclens_api.failure import CannotRun, Failure, UsageMistake
from quiclens_api.output import document_text
from quiclens_api.pages.page import page
from quiclens_api.serve.access import Role
from quiclens_api.serve.faults import Fault
from quiclens_api.web.access import asker
from quiclens_api.web.settings import Settings

_TOO_SLOW = (159, 160)  # TIMEOUT_EXCEEDED, TOO_SLOW
_TOO_MUCH = (158, 241, 396)  # TOO_MANY_ROWS, MEMORY_LIMIT_EXCEEDED, TOO_MANY_ROWS_OR_BYTES
_OPTION = re.compile(r"(?<!\w)--(?=[a-z])")
_STATUS = {"no_store": 503, "store_busy": 503, "store_failed": 503, "not_found": 404, "busy": 429, "not_let_in": 403}

Document = Mapping[str, Any]


class Mistake(BaseModel):
    """What is wrong, and what to change."""

    code: str
    message: str
    hint: str


class Failed(BaseModel):
    """Every failure's document."""

    error: Mistake


_FAILURES = {
    401: "A token is needed.",
    403: "Not for who asks.",
    404: "There is no such thing.",
    422: "A parameter cannot be, or the question needs too much.",
    429: "Too many questions at once.",
    503: "The store does not answer.",
    504: "The question took too long.",
}
FAILURES: dict[int | str, dict[str, Any]] = {
    status: {"model": Failed, "description": says} for status, says in _FAILURES.items()
}


class NotFound(Failure):
    """What was asked for is not there."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__("not_found", message, hint)


class Asking:
    """Asks questions of one store, so many at once."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self._store = settings.store.bounded(settings.limits.settings())
        self._turns = BoundedSemaphore(settings.limits.at_once)

    def document(self, question: Callable[[Store], Document]) -> Response:
        """The answer of a question, as JSON."""
        return Response(document_text(self.run(question)), media_type="application/json")

    def run(self, question: Callable[[Store], Any]) -> Any:
        """What a question answers; Failure with a code of ours and no word of SQL."""
        if not self._turns.acquire(timeout=self.settings.limits.wait_seconds):
            raise Failure("busy", "too many questions at once", "ask again in a moment")
        try:
            return question(self._store)
        except StoreError as error:
            raise failure_of(error) from error
        finally:
            self._turns.release()


def asking(request: Request) -> Asking:
    """The app's own, for a route to depend on."""
    found: Asking = request.app.state.asking
    return found


def role(request: Request) -> Role:
    """Who asks; Fault when nobody we let in."""
    settings: Settings = request.app.state.asking.settings
    found = asker(settings.access, settings.qvis, request)
    told = {"asker": found.name, "role": found.role.value, "method": request.method, "path": request.url.path}
    settings.tell(document_text({"at": datetime.now(UTC), **told, "query": request.url.query}))
    return found.role


def failure_of(error: StoreError) -> Failure:
    """The store's trouble in words that say what to change, without the statement."""
    if error.code in _TOO_SLOW:
        return Failure("too_slow", "the question took too long", "a shorter stretch of time, or more conditions")
    if error.code in _TOO_MUCH:
        return Failure("too_much", "the question needs too much", "a shorter stretch of time, or more conditions")
    return CannotRun("store_failed", "the store could not answer", "quiclens status says how it is")


def answer_failure(request: Request, failure: Exception) -> Response:
    """A failure of ours: 4xx says what to change, 503 and 504 that it is not the asker's fault."""
    assert isinstance(failure, Failure)
    if isinstance(failure, UsageMistake):
        status = 422
    elif failure.code in ("too_slow", "too_much"):
        status = 504 if failure.code == "too_slow" else 422
    else:
        status = _STATUS.get(failure.code, 503)
    # The same mistakes are told on the command line, where names of options have dashes before them.
    words = {name: _OPTION.sub("", text) for name, text in failure.document()["error"].items()}
    return _failed(request, words, status)


def answer_fault(request: Request, fault: Exception) -> Response:
    """Who was not let in; a browser without a token is shown where to give one."""
    assert isinstance(fault, Fault)
    if fault.status == 401 and _is_a_person(request):
        return RedirectResponse(f"/login?{urlencode({'to': request.url.path})}", 303)
    words = {"code": "not_let_in", "message": str(fault), "hint": "send a token: Authorization: Bearer …"}
    return _failed(request, words, fault.status)


def answer_invalid(request: Request, invalid: Exception) -> Response:
    """A parameter of a wrong type or out of bounds."""
    assert isinstance(invalid, RequestValidationError)
    first = invalid.errors()[0]
    place = ".".join(str(part) for part in first["loc"] if part not in ("query", "path", "body"))
    words = {"code": "usage", "message": f"{place}: {first['msg']}", "hint": "/api/docs has every parameter"}
    return _failed(request, words, 422)


def _is_a_person(request: Request) -> bool:
    return "text/html" in request.headers.get("accept", "")


def _failed(request: Request, words: Mapping[str, str], status: int) -> Response:
    """The failure as a document, or as a page where a person's browser asked for a page."""
    if _is_a_person(request) and not request.url.path.startswith("/api/"):
        return page("message.html", status=status, message=_sentence(words["message"]), hint=_sentence(words["hint"]))
    return Response(document_text({"error": words}), status, media_type="application/json")


def _sentence(words: str) -> str:
    return words[:1].upper() + words[1:]
