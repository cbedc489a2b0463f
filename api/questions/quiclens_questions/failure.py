"""What can stop a command, and the exit code it stops with."""

from typing import Any

DONE = 0
NOTHING_FOUND = 1
USAGE = 2
CANNOT_RUN = 3


class Failure(Exception):
    """A stop with a code for programs, a sentence for people, and what to do about it."""

    exit_code = CANNOT_RUN

    def __init__(self, code: str, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.hint = hint

    def document(self) -> dict[str, Any]:
        return {"error": {"code": self.code, "message": self.message, "hint": self.hint}}


class CannotRun(Failure):
    """The world is not ready: no store, no collector, another process holds the store."""


class UsageMistake(Failure):
    """The command line is wrong; nothing was asked."""

    exit_code = USAGE


def usage(message: str, hint: str = "") -> UsageMistake:
    return UsageMistake("usage", message, hint)
