"""Questions to the store: one file in queries/ each, with conditions from the catalogue and bound parameters."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from importlib import resources
from typing import Any

from quiclens_schema.catalogue import CAUSES
from quiclens_schema.store import Parameters, Result, Store

from quiclens_api.where import Where

_CONDITIONS = "/* conditions */"
_BY = "/* by */"
_CAUSES = "/* causes */"
_CONNECTIONS = "(/* chosen_connections.sql */)"


@cache
def sql(name: str) -> str:
    """The text of one question, with the causes' columns and the choice of one trace a connection written into it."""
    text = (resources.files("quiclens_api") / "queries" / f"{name}.sql").read_text(encoding="utf-8").strip()
    text = text.replace(_CAUSES, ", ".join(f"{cause}_us" for cause in CAUSES))
    if _CONNECTIONS in text:
        text = text.replace(_CONNECTIONS, f"(\n{sql('chosen_connections')}\n)")
    return text


def together(*questions: Callable[[], Any]) -> list[Any]:
    """The answers of questions that do not need each other's, asked at one time."""
    with ThreadPoolExecutor(len(questions)) as threads:
        return [asked.result() for asked in [threads.submit(question) for question in questions]]


def ask(
    store: Store,
    name: str,
    parameters: Parameters | None = None,
    where: Where | None = None,
    by: Sequence[str] = (),
) -> Result:
    """Ask one question. `where` needs a `/* conditions */` mark, `by` (names of the catalogue) a `/* by */` mark."""
    text, bound = sql(name).replace(_BY, ", ".join(f"toString(`{column}`)" for column in by)), dict(parameters or {})
    if where is not None:
        text = text.replace(_CONDITIONS, where.sql())
        bound |= where.parameters()
    return store.query(text, dict[str, Any](bound))
