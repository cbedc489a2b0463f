"""Every request from its first byte to its answer's last: timed, counted by route and status, and, when something
unexpected stops it, logged under its id and answered. `HEAD` is `GET` whose body is not sent.
"""

import logging
import time

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from quiclens_web.front.metrics import FrontMetrics
from quiclens_web.front.problems import Answers, request_id

log = logging.getLogger("quiclens.serve")

_METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
_LONGEST_METHOD = 50  # in the log
_CUT = "cut"  # begun, and ended before its end: the client sees that the connection is closed
_GONE = "gone"  # the client went away before it was answered

HEADERS = {
    # Scripts and styles of our own alone; nothing leaves the machine, and no other page may frame ours.
    b"content-security-policy": b"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
    b"connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    b"x-content-type-options": b"nosniff",
    b"referrer-policy": b"no-referrer",
}
"""What every answer says to browsers."""


class Observed:
    """The outermost part of the app."""

    def __init__(self, app: ASGIApp, answers: Answers, metrics: FrontMetrics) -> None:
        self._app = app
        self._answers = answers
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began = time.perf_counter()
        method, is_head = scope["method"], scope["method"] == "HEAD"
        name = request_id(scope)
        inner = {**scope, "method": "GET"} if is_head else scope  # the server itself looks at the outer one
        status, is_ended = 0, False

        async def told(message: Message) -> None:
            nonlocal status, is_ended
            if message["type"] == "http.response.start":
                status = message["status"]
                given = [each for each in message.get("headers", []) if each[0].lower() not in HEADERS]
                message["headers"] = [*given, *HEADERS.items(), (b"x-request-id", name.encode())]
            elif message["type"] == "http.response.body":
                is_ended = not message.get("more_body", False)
                if is_head:
                    message = {**message, "body": b""}
            await send(message)

        try:
            await self._app(inner, receive, told)
        except Exception as error:
            route = route_of(inner)
            self._metrics.unexpected.labels(route).inc()
            log.error("%s %s failed, id %s: %r", method[:_LONGEST_METHOD], route, name, error, exc_info=error)
            if not status:
                await self._answers.unexpected(inner)(inner, receive, told)
        finally:
            route = route_of(inner)
            end = _GONE if not status else str(status) if is_ended else _CUT
            self._metrics.responses.labels(method if method in _METHODS else "other", route, end).inc()
            self._metrics.response_seconds.labels(route).observe(time.perf_counter() - began)


def route_of(scope: Scope) -> str:
    """The template of the route that took a request: one of a closed set, whatever the path was."""
    path = getattr(scope.get("route"), "path", None)
    found = path if isinstance(path, str) and path else scope.get("root_path")  # of files that are served as they are
    return found or "(none)"
