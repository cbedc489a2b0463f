"""The program `quiclens`. Its modules take a moment to be imported; an interrupt ends it quietly also then."""

import os
import signal
from types import FrameType

INTERRUPTED = 130


def _end(_number: int, _frame: FrameType | None) -> None:
    """No KeyboardInterrupt, which would come out of the middle of an import."""
    os.write(2, b"interrupted\n")
    os._exit(INTERRUPTED)


def main() -> int:
    """Import the command, then run it; from then on it sees to interrupts itself."""
    usual = signal.signal(signal.SIGINT, _end)
    from quiclens_command_line.main import main as run

    signal.signal(signal.SIGINT, usual)
    return run()
