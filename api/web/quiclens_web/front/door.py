"""The door before everything that is served: who asks is decided here, and told to the audit log, before any route sees
the request. Nothing is served to nobody but what stands in `_PUBLIC`.
"""

import asyncio
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from urllib.parse import parse_qsl, urlencode

from starlette.requests import Request
from starlette.responses import RedirectResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from quiclens_questions.document import document_text
from quiclens_web.front import foreign, probes
from quiclens_web.front.access import Doorkeeper, Visitor, address_of
from quiclens_web.front.metrics import FrontMetrics
from quiclens_web.front.problems import Answers, Stopped, request_id, wants_page

_SIGNING = ("/login", "/logout")  # open to everybody, and told to the audit log as all that is not
_FORM_SECONDS, _FORM_BYTES = 10.0, 64 << 10  # of a token's form, which whoever has none may send
_PUBLIC = ("/api/openapi.json", "/causes.css")
_PUBLIC_FOLDERS = ("/static/", "/vendor/")
_LONGEST = {"who": 200, "address": 100, "method": 50, "path": 4_000, "query": 4_000}
"""Characters of what a stranger may write into a line of the audit log."""
_SECRETS = ("password", "token", "key")
_OTHER_BYTES = Stopped("usage", "the query is not UTF-8", "letters beyond ASCII are sent as UTF-8, in percent signs")


@dataclass(frozen=True, slots=True)
class RequestLimits:
    """Requests that run at one time; beyond, 429."""

    at_once: int = 512
    of_one: int = 128  # of one visitor


class Door:
    """An ASGI app before another; `tell` hears one line of JSON for each request that is let in or refused, but for
    files that are the same for everybody."""

    def __init__(
        self,
        app: ASGIApp,
        keeper: Doorkeeper,
        answers: Answers,
        metrics: FrontMetrics,
        tell: Callable[[str], None],
        limits: RequestLimits = RequestLimits(),
    ) -> None:
        self._app = app
        self._keeper = keeper
        self._answers = answers
        self._metrics = metrics
        self._tell = tell
        self._limits = limits
        self._running: Counter[str] = Counter()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] in probes.PUBLIC:
            await self._app(scope, receive, send)
            return
        request = Request(scope)
        scope.setdefault("state", {})["door"] = self
        try:
            self._keeper.check_origin(request)
            if not foreign.is_utf8_query(scope["query_string"]):
                raise _OTHER_BYTES
            if _is_public(scope["path"]):
                await self._app(scope, receive, send)
                return
            if scope["path"] in _SIGNING:
                await self._signing(request, scope, receive, send)
                return
            visitor = self._keeper.visitor(request)
        except Stopped as stopped:
            self.note(request, None, refused=stopped.code)
            await self._refuse(scope, receive, send, stopped)
            return
        except Exception:  # an error of ours: nobody was let in, and that somebody tried is known
            if "is_noted" not in scope["state"]:
                self.note(request, None, refused="internal")
            raise
        scope["state"]["visitor"] = visitor
        await self._bounded(visitor, request, scope, receive, send)

    @property
    def keeper(self) -> Doorkeeper:
        return self._keeper

    def note(self, request: Request, visitor: Visitor | None, refused: str = "") -> None:
        """Tell the audit log of one attempt; a line that cannot be written stops the request."""
        if refused:
            self._metrics.refused.labels(refused).inc()
        request.scope["state"]["is_noted"] = True
        written = {
            "who": visitor.name if visitor else "",
            "address": visitor.address if visitor else address_of(request, self._keeper.access.proxies),
            "method": request.scope["method"],
            "path": request.scope["path"],
            "query": _without_secrets(request.scope["query_string"].decode("latin-1")),
        }
        line = {
            "at": datetime.now(UTC),
            "id": request_id(request.scope),
            "role": visitor.role.value if visitor else "",
            **{name: text[: _LONGEST[name]] for name, text in written.items()},
            "refused": refused,
            "cut": [name for name, text in written.items() if len(text) > _LONGEST[name]],
        }
        self._tell(document_text(line))

    async def _signing(self, request: Request, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve the places where tokens are given and sessions end; of a token that is given, its route tells whether
        it was right."""
        if scope["path"] == "/login" and scope["method"] == "POST":
            await self._app(scope, await _form(receive), send)
            if "is_noted" not in scope["state"]:
                self.note(request, None, refused="no_token")  # a form without one
            return
        known = self._keeper.sessions.token(self._keeper.access.tokens, request.cookies.get(self._keeper.cookie, ""))
        address = address_of(request, self._keeper.access.proxies)
        self.note(request, Visitor(known.name, known.role, address) if known else None)
        await self._app(scope, receive, send)

    async def _bounded(self, visitor: Visitor, request: Request, scope: Scope, receive: Receive, send: Send) -> None:
        who = visitor.crowd
        if self._running[who] >= self._limits.of_one or self._running.total() >= self._limits.at_once:
            self.note(request, visitor, refused="busy")
            stopped = Stopped("busy", f"{visitor.name} has too many requests at once", "ask again in a moment")
            await self._refuse(scope, receive, send, stopped)
            return
        self.note(request, visitor)
        self._running[who] += 1
        try:
            await self._app(scope, receive, send)
        finally:
            self._running[who] -= 1
            if not self._running[who]:
                del self._running[who]

    async def _refuse(self, scope: Scope, receive: Receive, send: Send, stopped: Stopped) -> None:
        if stopped.code == "token_needed" and wants_page(scope) and not self._answers.is_clickhouse(scope):
            query = scope["query_string"].decode("latin-1")
            to = f"{scope['path']}?{query}" if query else scope["path"]
            await RedirectResponse(f"/login?{urlencode({'to': to})}", 303)(scope, receive, send)
            return
        answer = self._answers.stopped(scope, stopped)
        headers = Request(scope).headers
        if headers.get("content-length", "0") != "0" or "transfer-encoding" in headers:
            answer.headers["Connection"] = "close"  # its body is not read
        await answer(scope, receive, send)


def door_of(request: Request) -> Door:
    """The door that a request came through."""
    found: Door = request.scope["state"]["door"]
    return found


async def _form(receive: Receive) -> Receive:
    """A form that has come, to be read again; Stopped for one that is too large, or does not come in its time."""
    body, has_ended, is_given = b"", False, False
    try:
        async with asyncio.timeout(_FORM_SECONDS):
            while not has_ended:
                message = await receive()
                body += message.get("body", b"")
                has_ended = not message.get("more_body", False)
                if len(body) > _FORM_BYTES:
                    raise Stopped("too_large", f"a form has {_FORM_BYTES} bytes at most")
    except TimeoutError:
        raise Stopped("no_request", f"the form did not come within {_FORM_SECONDS:.0f} s") from None

    async def again() -> Message:
        nonlocal is_given
        if is_given or message["type"] == "http.disconnect":
            return await receive()
        is_given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return again


def _is_public(path: str) -> bool:
    return path in _PUBLIC or path.startswith(_PUBLIC_FOLDERS)


def _without_secrets(query: str) -> str:
    if not any(word in query.lower() for word in _SECRETS):
        return query
    given = parse_qsl(query, keep_blank_values=True)
    return urlencode([(n, "***" if any(word in n.lower() for word in _SECRETS) else v) for n, v in given])
