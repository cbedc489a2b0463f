"""How a page is made, and what is served as it is: folders, and the causes' looks for style sheets and scripts."""

import re
from html import escape
from importlib import resources
from typing import Any

from fastapi import APIRouter
from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape
from markupsafe import Markup
from quiclens_schema.catalogue import CAUSES
from starlette.responses import HTMLResponse, Response
from starlette.staticfiles import StaticFiles

from quiclens_questions.causes import LOOKS, look
from quiclens_questions.units import age, duration, milliseconds, share, size
from quiclens_web.pages.says import says, short_name

public = APIRouter(include_in_schema=False)
_CODE = re.compile("`([^`]+)`")


def _environment() -> Environment:
    found = Environment(
        loader=PackageLoader("quiclens_web.pages"), autoescape=select_autoescape(), undefined=StrictUndefined
    )
    filters: dict[str, Any] = {
        "duration": duration,
        "ms": lambda us: milliseconds(us, 3),
        "us": lambda us: f"{us:,} µs",
        "size": size,
        "age": age,
        "share": lambda part: share(part, 1),
        "says": says,
        "short_name": short_name,
        "cause_name": lambda cause: look(cause).name,
        "paragraphs": paragraphs,
    }
    found.filters |= filters
    return found


def paragraphs(text: str) -> Markup:
    """Text as our descriptions are written: an empty line between paragraphs, `code` between backticks."""
    found = (_CODE.sub(r"<code>\1</code>", escape(each)) for each in text.split("\n\n") if each.strip())
    return Markup("".join(f"<p>{each}</p>" for each in found))


_TEMPLATES = _environment()


def page(template: str, here: str = "", status: int = 200, **values: Any) -> Response:
    return HTMLResponse(_TEMPLATES.get_template(template).render(here=here, **values), status)


def files() -> tuple[tuple[str, StaticFiles], ...]:
    """The folders that are served as they are."""
    folder = resources.files("quiclens_web.pages")
    return tuple((f"/{name}", StaticFiles(directory=str(folder / name))) for name in ("static", "vendor"))


@public.get("/causes.css")
def causes() -> Response:
    """The colour of every cause, as a class and as a variable; one place says it for terminal and page."""
    light = " ".join(f"--cause-{cause}: {one.on_light};" for cause, one in LOOKS.items())
    dark = " ".join(f"--cause-{cause}: {one.on_dark};" for cause, one in LOOKS.items())
    variables = [
        f":root {{ {light} }}",
        f'@media (prefers-color-scheme: dark) {{ :root:not([data-theme="light"]) {{ {dark} }} }}',
        f':root[data-theme="dark"] {{ {dark} }}',
    ]
    rules = [f".cause-{cause} {{ fill: var(--cause-{cause}); background: var(--cause-{cause}); }}" for cause in LOOKS]
    return Response("\n".join((*variables, *rules)) + "\n", media_type="text/css")


@public.get("/static/causes.js")
def cause_names() -> Response:
    """Names of the causes, in vocabulary order, for the scripts; their colours are variables of /causes.css."""
    rows = ", ".join(f'["{cause}", {{name: "{LOOKS[cause].name}"}}]' for cause in CAUSES)
    text = f"/** @type {{Map<string, {{name: string}}>}} */\nexport const CAUSES = new Map([{rows}]);\n"
    return Response(text, media_type="text/javascript")
