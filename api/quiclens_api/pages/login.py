"""Giving a token in a browser: it becomes a session in a cookie that no script can read."""

from typing import Annotated

from fastapi import APIRouter, Depends, Form, Query
from starlette.responses import RedirectResponse, Response

from quiclens_api.pages.page import page
from quiclens_api.serve.access import role_of_token
from quiclens_api.web.access import COOKIE, SESSION_SECONDS
from quiclens_api.web.answering import Asking, asking

router = APIRouter(include_in_schema=False)

App = Annotated[Asking, Depends(asking)]
To = Annotated[str, Query(max_length=2000)]


@router.get("/login")
def ask_for_token(to: To = "/") -> Response:
    return page("login.html", to=_inside(to), is_wrong=False)


@router.post("/login")
def begin(app: App, token: Annotated[str, Form(max_length=4000)], to: To = "/") -> Response:
    access = app.settings.access
    role = role_of_token(access.writer_digests, access.reader_digests, token.strip())
    if role is None:
        return page("login.html", status=403, to=_inside(to), is_wrong=True)
    answer = RedirectResponse(_inside(to), 303)
    answer.set_cookie(
        COOKIE, access.sessions.begin(role), max_age=SESSION_SECONDS, httponly=True, samesite="lax", path="/"
    )
    return answer


def _inside(to: str) -> str:
    """Only to a page of ours."""
    return to if to.startswith("/") and not to.startswith(("//", "/\\")) else "/"
