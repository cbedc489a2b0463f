"""What a supervisor hears: each word once, and the watchdog's as often as it asks."""

import os
import socket
from pathlib import Path

from quiclens_schema.supervised import Supervisor


def test_a_supervisor_hears_that_it_begins_lives_and_ends(tmp_path: Path) -> None:
    place = tmp_path / "notify"
    clock = [100.0]
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as hears:
        hears.bind(str(place))
        hears.setblocking(False)
        asked = {"NOTIFY_SOCKET": str(place), "WATCHDOG_USEC": "20000000", "WATCHDOG_PID": str(os.getpid())}
        supervisor = Supervisor(asked, lambda: clock[0])
        supervisor.begun()
        for _ in range(25):  # a second each: the watchdog wants to hear twice in 20 s
            supervisor.alive()
            clock[0] += 1
        supervisor.ends()
        supervisor.close()
        heard: list[str] = []
        while len(heard) < 5:
            heard.append(hears.recv(100).decode())
        assert heard == ["READY=1", "WATCHDOG=1", "WATCHDOG=1", "WATCHDOG=1", "STOPPING=1"]
        other = Supervisor({**asked, "WATCHDOG_PID": "1"}, lambda: clock[0])
        other.alive()  # another process is watched
        other.begun()
        assert hears.recv(100) == b"READY=1"
        other.close()


def test_where_nobody_asks_nothing_is_told(tmp_path: Path) -> None:
    Supervisor({}).begun()
    Supervisor({"NOTIFY_SOCKET": str(tmp_path / "nobody"), "WATCHDOG_USEC": "1"}).alive()
