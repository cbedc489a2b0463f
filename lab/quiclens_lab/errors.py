"""The lab's errors: it cannot keep its promise, or cannot even try, and says why in one line."""


class LabError(Exception):
    """A run broke a promise, or a step of it failed. The message is one line, for a person."""


class CannotTryError(LabError):
    """Nothing was tried: a program, a file or an option is missing here. No bar is missed by that."""
