"""What systemd is told of a service of `Type=notify`: that it has begun, that it is alive, that it ends.

Nothing, where nobody asked. The protocol: sd_notify(3), sd_watchdog_enabled(3).
"""

import logging
import os
import socket
import time
from collections.abc import Callable, Mapping

_log = logging.getLogger("quiclens.supervised")


class Supervisor:
    """Made before a process is confined: the socket stays open."""

    def __init__(self, environment: Mapping[str, str] = os.environ, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._socket: socket.socket | None = None
        self._interval_s = 0.0
        self._next = 0.0
        place = environment.get("NOTIFY_SOCKET", "")
        if not place:
            return
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC)
        try:
            self._socket.connect(f"\0{place[1:]}" if place.startswith("@") else place)
        except OSError as error:
            _log.warning("the supervisor cannot be told: %s", error)
            self._socket.close()
            self._socket = None
        if environment.get("WATCHDOG_PID", str(os.getpid())) == str(os.getpid()):
            self._interval_s = int(environment.get("WATCHDOG_USEC", "0")) / 2_000_000

    def begun(self) -> None:
        """All is open, and work begins."""
        self._say("READY=1")

    def alive(self) -> None:
        """The loop turns: told as often as the watchdog wants it, however often this is called."""
        if self._interval_s and self._now() >= self._next:
            self._next = self._now() + self._interval_s
            self._say("WATCHDOG=1")

    def ends(self) -> None:
        """It was told to stop."""
        self._say("STOPPING=1")

    def close(self) -> None:
        """Nothing is told any more."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def _say(self, text: str) -> None:
        if self._socket is None:
            return
        try:
            self._socket.send(text.encode())
        except OSError as error:
            _log.warning("the supervisor cannot be told: %s", error)
