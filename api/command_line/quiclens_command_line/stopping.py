"""When a command that goes on is to stop."""

import signal
from threading import Event


def told_to_stop() -> Event:
    """Set by SIGTERM and SIGINT, which do nothing else from now on."""
    stop = Event()
    for ending in (signal.SIGTERM, signal.SIGINT):
        signal.signal(ending, lambda *_: stop.set())
    return stop
