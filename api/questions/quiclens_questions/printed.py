"""What the collector prints of logs, line by line, as types."""

from collections.abc import Iterator, Sequence
from typing import TypeVar

from pydantic import TypeAdapter, ValidationError

from quiclens_questions import collector
from quiclens_questions.failure import CannotRun

T = TypeVar("T")


def printed(arguments: Sequence[str], line: TypeAdapter[T], what: str) -> Iterator[T]:
    """Each line as it comes; CannotRun where one is not `what` it should be."""
    for text in filter(None, map(str.strip, collector.each_line(arguments))):
        try:
            yield line.validate_json(text)
        except ValidationError as error:
            message = f"the collector printed what is no {what}: {text[:80]!r}"
            raise CannotRun("collector_failed", message, "are the collector and quiclens of one version?") from error
