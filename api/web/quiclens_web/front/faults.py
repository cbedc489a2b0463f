"""Errors as ClickHouse's HTTP interface tells them: a code, a name, a status, and one line of text."""

import re

_CODE = re.compile(r"Code: (\d+)\. DB::Exception: ")
_NAME = re.compile(r"\(([A-Z][A-Z0-9_]+)\)\s*(?:\(version [^()]*(?:\([^()]*\))?[^()]*\)\s*)?$")

_LONGEST = 10_000  # characters of an engine's message

NOT_FOUND = (46, 47, 50, 56, 60, 63, 73, 81, 115, 336, 390)
BAD_REQUEST = (
    6,
    26,
    27,
    33,
    36,
    38,
    41,
    42,
    43,
    53,
    62,
    69,
    70,
    72,
    117,
    130,
    131,
    158,
    190,
    271,
    321,
    386,
    456,
    457,
    474,
)
_STATUS = {
    **dict.fromkeys(NOT_FOUND, 404),
    **dict.fromkeys(BAD_REQUEST, 400),
    48: 501,  # not implemented
    159: 408,  # timeout exceeded
    164: 403,  # readonly
    194: 401,  # required password
    202: 429,  # too many simultaneous queries
    209: 408,  # socket timeout: the client was too slow
    216: 409,  # a query of this id is running
    307: 413,  # too many bytes
    452: 403,  # setting constraint violation
    497: 403,  # access denied
    516: 403,  # authentication failed
}


class Fault(Exception):
    """One answer that is no success; `retry_after_seconds` is for answers that another try may change."""

    def __init__(self, code: int, name: str, message: str, status: int | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.name = name
        self.status = status or _STATUS.get(code, 500)
        self.retry_after_seconds = 1 if self.status in (429, 503) else 0

    @property
    def body(self) -> bytes:
        return f"Code: {self.code}. DB::Exception: {self} ({self.name})\n".encode()


class Refused(Fault):
    """A statement that may not run here, whoever asks."""

    def __init__(self, message: str) -> None:
        super().__init__(497, "ACCESS_DENIED", message)


def of_engine(text: str) -> Fault:
    """What the engine said as a fault, without its code and name repeated."""
    code = _CODE.search(text)
    if code is None:
        return Fault(1002, "UNKNOWN_EXCEPTION", text.strip() or "the engine failed without a word")
    name = _NAME.search(text)
    message = text[code.end() : name.start() if name else len(text)].strip()
    if len(message) > _LONGEST:  # the engine repeats values and statements, however long they are
        message = f"{message[:_LONGEST]}… ({len(message) - _LONGEST:,} more characters)"
    return Fault(int(code[1]), name[1] if name else "UNKNOWN_EXCEPTION", message)


def too_many(what: str) -> Fault:
    return Fault(202, "TOO_MANY_SIMULTANEOUS_QUERIES", f"Too many {what} at once. Try again")


def too_large(limit: int) -> Fault:
    return Fault(307, "TOO_MANY_BYTES", f"The request's body is larger than {limit:,} bytes", 413)
