"""Questions to the store: one file in queries/ each, with conditions from the catalogue and bound parameters."""

import re
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
_BY_KEYS = "/* by keys */"
_COLUMN = "/* column */"
_CAUSES = "/* causes */"
_CAUSE_SUMS = "/* weighted sums of causes */"
_SAMPLES = "/* samples */"
_INCLUDED = re.compile(r"\(/\* (\w+)\.sql \*/\)")


@cache
def sql(name: str) -> str:
    """The text of one question, with the causes' columns and the questions that it includes written into it."""
    text = (resources.files("quiclens_api") / "queries" / f"{name}.sql").read_text(encoding="utf-8").strip()
    text = text.replace(_CAUSES, ", ".join(f"{cause}_us" for cause in CAUSES))
    text = text.replace(_CAUSE_SUMS, ", ".join(f"sum({cause}_us * trace_weight)" for cause in CAUSES))
    return _INCLUDED.sub(lambda found: f"(\n{sql(found[1])}\n)", text)


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
    samples: str = "",
) -> Result:
    """Ask one question. `where` needs a `/* conditions */` mark, `by` (names of the catalogue) a `/* by */` mark, and
    may have `/* by keys */`, the same as columns to group by after others, which is quicker than by their texts, or
    `/* column */`, the first of them as it is;
    `samples` (the name of another question) a `/* samples */` mark."""
    text, bound = sql(name), dict(parameters or {})
    if samples:
        text = text.replace(_SAMPLES, sql(samples))
    text = text.replace(_BY, ", ".join(f"toString(`{column}`)" for column in by))
    text = text.replace(_BY_KEYS, "".join(f", `{column}`" for column in by))
    text = text.replace(_COLUMN, f"`{by[0]}`" if by else "")
    if where is not None:
        text = text.replace(_CONDITIONS, where.sql())
        bound |= where.parameters()
    return store.query(text, dict[str, Any](bound))
