"""Routes that know their query parameters, of the API and of pages."""

from collections.abc import Callable, Coroutine
from typing import Any

from fastapi import Request
from fastapi.dependencies.utils import get_flat_params
from fastapi.params import Query
from fastapi.routing import APIRoute
from starlette.responses import Response

from quiclens_web.front.parameters import refuse_unknown

ANY_QUERY = "x-any-query"
"""Among a route's `openapi_extra`: its parameters are not ours to know."""
_OF_SCRIPTS = "x-query-of-scripts"


class StrictRoute(APIRoute):
    """Answers 422 to a query parameter that neither the route nor, of a page, its scripts take."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        answer = super().get_route_handler()
        known = parameters_of(self)
        if (self.openapi_extra or {}).get(ANY_QUERY):
            return answer

        async def checked(request: Request) -> Response:
            refuse_unknown(request.query_params, known, names_all=not self.include_in_schema)
            return await answer(request)

        return checked


def parameters_of(route: APIRoute) -> frozenset[str]:
    """The names of a route's query parameters."""
    taken = {each.alias for each in get_flat_params(route.dependant) if isinstance(each.field_info, Query)}
    return frozenset(taken | set((route.openapi_extra or {}).get(_OF_SCRIPTS, ())))


def of_scripts(*names: str) -> dict[str, Any]:
    """A page's `openapi_extra`: the parameters of its address that its scripts read, or write there."""
    return {_OF_SCRIPTS: names}
