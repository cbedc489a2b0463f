"""Routes that know their query parameters: another one is a mistake, not something to pass over."""

from collections.abc import Callable, Coroutine
from difflib import get_close_matches
from typing import Any

from fastapi import Request
from fastapi.dependencies.utils import get_flat_params
from fastapi.params import Query
from fastapi.routing import APIRoute
from starlette.responses import Response

from quiclens_web.front.problems import Stopped

ANY_QUERY = "x-any-query"
"""Among a route's `openapi_extra`: its parameters are not ours to know."""


class StrictRoute(APIRoute):
    """Answers 422 to a query parameter that the OpenAPI document does not name."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        answer = super().get_route_handler()
        known = parameters_of(self)
        if (self.openapi_extra or {}).get(ANY_QUERY):
            return answer

        async def checked(request: Request) -> Response:
            for name in request.query_params:
                if name not in known:
                    raise Stopped("unknown_parameter", f"there is no parameter {name[:100]!r} here", _hint(name, known))
            return await answer(request)

        return checked


def parameters_of(route: APIRoute) -> frozenset[str]:
    """The names of a route's query parameters."""
    return frozenset(each.alias for each in get_flat_params(route.dependant) if isinstance(each.field_info, Query))


def _hint(name: str, known: frozenset[str]) -> str:
    near = get_close_matches(name, known, 1)
    return f"{near[0]}?" if near else f"one of {', '.join(sorted(known))}" if known else "this address takes none"
