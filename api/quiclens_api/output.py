"""Where words go: the answer to stdout, everything else to stderr."""

import json
import math
import sys
from collections.abc import Mapping
from datetime import date, datetime
from typing import Any

from rich.console import Console, RenderableType

from quiclens_api.moment import rfc3339

_PIPE_WIDTH = 160  # columns where nobody says how wide the screen is


def document_text(document: Mapping[str, Any]) -> str:
    """One JSON document on one line; the same values give the same bytes."""
    return json.dumps(_plain(document), ensure_ascii=False, allow_nan=False)


def print_document(document: Mapping[str, Any]) -> None:
    _utf8()
    sys.stdout.write(document_text(document) + "\n")
    sys.stdout.flush()


def print_text(text: str) -> None:
    _utf8()
    sys.stdout.write(text)
    sys.stdout.flush()


def print_human(*parts: RenderableType) -> None:
    _utf8()
    console = Console(file=sys.stdout, highlight=False, width=None if sys.stdout.isatty() else _PIPE_WIDTH)
    for part in parts:
        console.print(part)


def answer(as_json: bool, document: Mapping[str, Any], *human: RenderableType) -> None:
    """Print the answer once, in the form that was asked for."""
    if as_json:
        print_document(document)
    else:
        print_human(*human)


def say(message: str) -> None:
    """A sentence for the person who waits; never part of the answer."""
    print(message, file=sys.stderr, flush=True)


def errors() -> Console:
    return Console(stderr=True, highlight=False)


def _utf8() -> None:
    reconfigure = getattr(sys.stdout, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(encoding="utf-8", errors="replace")


def _plain(value: Any) -> Any:
    """Values of the store as JSON has them."""
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, datetime):
        return rfc3339(value)
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return value
