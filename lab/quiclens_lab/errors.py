"""The lab's one error: it cannot keep its promise, and says why in one line."""


class LabError(Exception):
    """The lab cannot run, or a run broke a promise. The message is one line, for a person."""
