"""Questions to the store: one file in queries/ each, with conditions from the catalogue and bound parameters."""

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from importlib import resources
from typing import Any, TypeVar, cast

from quiclens_ingest.scratch import sql as ingest_sql
from quiclens_schema.catalogue import CAUSES
from quiclens_schema.store import Parameters, Result, Store

from quiclens_questions import documents
from quiclens_questions.where import Where

T = TypeVar("T")

_CONDITIONS = "/* conditions */"
_BY = "/* by */"
_BY_KEYS = "/* by keys */"
_COLUMN = "/* column */"
_CAUSES = "/* causes */"
_CAUSE_SUMS = "/* weighted sums of causes */"
_SAMPLES = "/* samples */"
_KEY_COLUMNS = "/* key columns */"
_EACH_CUT = re.compile(r"/\* each cut: (.*?) \*/")
_IF_THERE = re.compile(r"/\* (if (\w+)|end) \*/")
_HAS = {"counts": re.compile(r"\bAS counts\b"), "shares": re.compile(r"\bAS counted_weight\b")}
_NO_VALUE = "'\\0'"  # in place of NULL, which is not equal to itself
_INCLUDED = re.compile(r"\(/\* (\w+)\.sql \*/\)")
_COLUMNS_OF = re.compile(r"/\* columns of (\w+) \*/")  # a typed dictionary of documents.py
_OF_INGEST = re.compile(r"\(/\* ingest/(\w+)\.sql \*/\)")  # what linking goes by too stands there alone


def unfilled(name: str) -> str:
    """The text of one question as it is written."""
    return (resources.files("quiclens_questions") / "queries" / f"{name}.sql").read_text(encoding="utf-8").strip()


@cache
def sql(name: str) -> str:
    """The text of one question, with the columns of causes and of documents, and the questions that it includes,
    written into it."""
    text = unfilled(name)
    text = text.replace(_CAUSES, ", ".join(f"{cause}_us" for cause in CAUSES))
    text = text.replace(_CAUSE_SUMS, ", ".join(f"sum({cause}_us * trace_weight)" for cause in CAUSES))
    text = _COLUMNS_OF.sub(lambda found: ",\n    ".join(getattr(documents, found[1]).__annotations__), text)
    text = _OF_INGEST.sub(lambda found: f"(\n{ingest_sql(found[1]).strip()}\n)", text)
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
    cuts: int = 0,
) -> Result:
    """Ask one question. `where` needs a `/* conditions */` mark, `by` (names of the catalogue) a `/* by */` mark, and
    may have `/* by keys */`, the same as columns to group by after others, which is quicker than by their texts, or
    `/* column */`, the first of them as it is;
    `samples` (the name of another question) a `/* samples */` mark, `cuts` how often `/* each cut: … */` is written."""
    text, bound = sql(name), dict(parameters or {})
    if samples:
        text = _of_samples(text, sql(samples), by, cuts)
    if "{time_zone:" in text:
        bound.setdefault("time_zone", "UTC")
    else:  # not every question of a report with hours tells any
        bound.pop("time_zone", None)
    text = text.replace(_BY, ", ".join(f"toString(`{column}`)" for column in by))
    text = text.replace(_BY_KEYS, "".join(f", `{column}`" for column in by))
    text = text.replace(_COLUMN, f"`{by[0]}`" if by else "")
    if where is not None:
        text = text.replace(_CONDITIONS, where.sql())
        bound |= where.parameters()
    return store.query(text, dict[str, Any](bound))


def ask_written(
    store: Store, name: str, where: Where, marks: Mapping[str, str], parameters: Parameters, more: str = ""
) -> Result:
    """Ask one question with text of ours written in: of each mark `/* MARK */`, then conditions, and `more` of them.
    Every value travels as a parameter; those that the text does not have stay behind."""
    text = sql(name)
    for mark, written in marks.items():
        text = text.replace(f"/* {mark} */", written)
    text = text.replace(_CONDITIONS, where.sql() + more)
    given = {**parameters, **where.parameters()}
    return store.query(text, {key: value for key, value in given.items() if "{" + key + ":" in text})


def _of_samples(text: str, samples: str, by: Sequence[str], cuts: int) -> str:
    """A question about samples, with these written into it. Their key is an array, or, which is quicker, columns in
    place of the mark `/* key columns */`. What stands between `/* if counts */` and `/* end */` is for samples that
    have a column `counts`, to be summed up; between `/* if shares */` and `/* end */`, for those that say with
    `counted_weight`, `counted` and `hits` what a share is of."""
    keys, values = ["key"], "key"
    if _KEY_COLUMNS in samples:
        keys = [f"key_{place}" for place in range(1, max(1, len(by)) + 1)]
        texts = [f"ifNull(toString(`{column}`), {_NO_VALUE})" for column in by] or ["''"]
        written = "".join(f"{each} AS {key}, " for each, key in zip(texts, keys, strict=True))
        samples = samples.replace(_KEY_COLUMNS, written)
        known = ", ".join(f"nullIf(toString({key}), {_NO_VALUE})" for key in keys) if by else ""
        values = f"CAST([{known}] AS Array(Nullable(String)))"
    text = _EACH_CUT.sub(lambda mark: ", ".join(mark[1].format(cut=cut) for cut in range(1, cuts + 1)), text)
    text = _if_there(text, {what for what, sign in _HAS.items() if sign.search(samples)})
    for mark, written in (("keys", ", ".join(keys)), ("key", values)):
        text = text.replace(f"/* {mark} */", written)
    return text.replace(_SAMPLES, samples)


def _if_there(text: str, there: Collection[str]) -> str:
    """A text without what stands between `/* if WORD */` and its `/* end */` where the word is not there."""
    kept, at, left_out = [], 0, 0
    opened: list[bool] = []  # whether each mark's text is left out
    for mark in _IF_THERE.finditer(text):
        if not left_out:
            kept.append(text[at : mark.start()])
        at = mark.end()
        if mark[2]:
            opened.append(mark[2] not in there)
            left_out += opened[-1]
        else:
            left_out -= opened.pop()
    return "".join([*kept, text[at:]])


def typed(kind: type[T], rows: list[dict[str, Any]]) -> list[T]:
    """Rows of a statement as a document has them. `kind` is a typed dictionary of `documents.py`, whose members the
    statement's columns are; `/* columns of KIND */` writes them there. Tests compare every answer with its document's
    schema."""
    return cast("list[T]", rows)
