"""Where the log of `serve` goes: standard error, one line a record with its time in UTC, and a traceback below."""

import logging
import sys
import time

from quiclens_schema.plain_text import LogFormatter

_FORMAT = "%(asctime)s.%(msecs)03dZ %(levelname)s %(name)s: %(message)s"
_QUIET = (
    "ASGI callable returned without completing response.",  # an answer cut on purpose: counted in `observed.py`
    "Invalid HTTP request received.",  # counted in `protocol_guard.py`; any stranger could fill the log with it
    "Unsupported upgrade request.",
)


def to_stderr() -> None:
    """Log from INFO on, and of the HTTP server what is wrong with us, not what is wrong with a client."""
    handler = logging.StreamHandler(sys.stderr)
    formatter = LogFormatter(_FORMAT, "%Y-%m-%dT%H:%M:%S")
    formatter.converter = time.gmtime
    handler.setFormatter(formatter)
    for name, level in (("quiclens", logging.INFO), ("uvicorn.error", logging.WARNING), ("asyncio", logging.WARNING)):
        logger = logging.getLogger(name)
        logger.handlers[:] = [handler]
        logger.setLevel(level)
        logger.propagate = False
    logging.getLogger("uvicorn.error").addFilter(_is_ours)


def _is_ours(record: logging.LogRecord) -> bool:
    return record.getMessage() not in _QUIET
