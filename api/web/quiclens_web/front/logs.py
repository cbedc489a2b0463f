"""Where the log of `serve` goes: standard error, one line a record with its time in UTC, and a traceback below."""

import logging
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass

from quiclens_schema.plain_text import LogFormatter

_FORMAT = "%(asctime)s.%(msecs)03dZ %(levelname)s %(name)s: %(message)s"
_MOST, _SECONDS = 20, 60.0  # records of one kind
_QUIET = (
    "ASGI callable returned without completing response.",  # an answer cut on purpose: counted in `observed.py`
    "Invalid HTTP request received.",  # counted in `protocol_guard.py`; any stranger could fill the log with it
    "Unsupported upgrade request.",
)


class RateLimit(logging.Filter):
    """Lets so many records of one kind through in so many seconds; the next one says how many were left out. A kind is
    the logger and the text without its values, so that whoever makes one fault again and again fills no disk."""

    def __init__(self, most: int, seconds: float, now: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._most = most
        self._seconds = seconds
        self._now = now
        self._kinds: dict[tuple[str, str], _Window] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        window = self._kinds.setdefault((record.name, str(record.msg)), _Window(self._now()))
        if self._now() - window.since >= self._seconds:
            if window.left_out:
                record.msg = f"{record.msg} ({window.left_out:,} like this were left out)"
            window.since, window.let, window.left_out = self._now(), 0, 0
        window.let += 1
        window.left_out += window.let > self._most
        return window.let <= self._most


@dataclass(slots=True)
class _Window:
    since: float
    let: int = 0
    left_out: int = 0


def to_stderr() -> None:
    """Log from INFO on, and of the HTTP server what is wrong with us, not what is wrong with a client."""
    handler = logging.StreamHandler(sys.stderr)
    formatter = LogFormatter(_FORMAT, "%Y-%m-%dT%H:%M:%S")
    formatter.converter = time.gmtime
    handler.setFormatter(formatter)
    handler.addFilter(RateLimit(_MOST, _SECONDS))
    for name, level in (("quiclens", logging.INFO), ("uvicorn.error", logging.WARNING), ("asyncio", logging.WARNING)):
        logger = logging.getLogger(name)
        logger.handlers[:] = [handler]
        logger.setLevel(level)
        logger.propagate = False
    logging.getLogger("uvicorn.error").addFilter(_is_ours)


def _is_ours(record: logging.LogRecord) -> bool:
    return record.getMessage() not in _QUIET
