"""What a running process is told from outside: secrets, and when it is to stop."""

import os
import signal
from collections.abc import Mapping
from threading import Event

from quiclens_schema import secret

from quiclens_questions.failure import usage


def told_secret(name: str, environment: Mapping[str, str] = os.environ) -> str:
    """The secret of this name, "" when nobody gave one; UsageMistake for one that cannot be had."""
    try:
        return secret.secret(name, environment)
    except secret.SecretError as error:
        raise usage(str(error)) from error


def told_to_stop() -> Event:
    """Set by SIGTERM and SIGINT, which do nothing else from now on."""
    stop = Event()
    for ending in (signal.SIGTERM, signal.SIGINT):
        signal.signal(ending, lambda *_: stop.set())
    return stop
