"""Giving a token in a browser, which becomes a session in a cookie that no script can read, and signing out."""

from typing import Annotated

from fastapi import APIRouter, Form, Query, Request
from starlette.responses import RedirectResponse, Response

from quiclens_web.api.strict import StrictRoute
from quiclens_web.front import sessions
from quiclens_web.front.access import Visitor, address_of
from quiclens_web.front.door import door_of
from quiclens_web.front.problems import Stopped
from quiclens_web.pages.page import page

router = APIRouter(include_in_schema=False, route_class=StrictRoute)

To = Annotated[str, Query(max_length=4000)]


@router.get("/login")
async def ask_for_token(request: Request, to: To = "/") -> Response:
    keeper = door_of(request).keeper
    known = keeper.sessions.token(keeper.access.tokens, request.cookies.get(keeper.cookie, ""))
    return page("login.html", to=_inside(to), wrong="", name=known.name if known else "")


@router.post("/login")
async def begin(request: Request, token: Annotated[str, Form(max_length=4000)], to: To = "/") -> Response:
    door, to = door_of(request), _inside(to)
    keeper = door.keeper
    address = address_of(request, keeper.access.proxies)
    try:
        found = keeper.token(token.strip(), address)
    except Stopped as stopped:
        door.note(request, None, refused=stopped.code)
        shown = page("login.html", status=stopped.status, to=to, wrong=stopped.detail, name="")
        shown.headers["Retry-After"] = str(stopped.retry_after_seconds)
        return shown
    if found is None:
        door.note(request, None, refused="wrong_token")
        return page("login.html", status=403, to=to, wrong="that token is not right", name="")
    door.note(request, Visitor(found.name, found.role, address))
    answer = RedirectResponse(to, 303)
    answer.set_cookie(
        keeper.cookie,
        keeper.sessions.begin(found),
        max_age=sessions.SECONDS,
        httponly=True,
        samesite="lax",
        secure=keeper.access.is_secure,
        path="/",
    )
    return answer


@router.post("/logout")
async def end(request: Request) -> Response:
    keeper = door_of(request).keeper
    keeper.sessions.end(request.cookies.get(keeper.cookie, ""))
    answer = RedirectResponse("/login", 303)
    answer.delete_cookie(keeper.cookie, path="/", secure=keeper.access.is_secure, httponly=True, samesite="lax")
    return answer


def _inside(to: str) -> str:
    """Only to a page of ours."""
    return to if to.startswith("/") and not to.startswith(("//", "/\\")) else "/"
