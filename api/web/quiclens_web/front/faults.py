"""Errors as ClickHouse's HTTP interface tells them: a code, a name, a status, and one line of text."""

import re
from collections.abc import Mapping

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

SERVER_ERRORS: Mapping[int, Mapping[int, str]] = {
    500: {
        12: "PARAMETER_OUT_OF_BOUND",
        32: "ATTEMPT_TO_READ_AFTER_EOF",
        44: "ILLEGAL_COLUMN",
        59: "ILLEGAL_TYPE_OF_COLUMN_FOR_FILTER",
        128: "TOO_LARGE_ARRAY_SIZE",
        153: "ILLEGAL_DIVISION",
        160: "TOO_SLOW",
        167: "TOO_DEEP_AST",
        168: "TOO_BIG_AST",
        184: "ILLEGAL_AGGREGATION",
        215: "NOT_AN_AGGREGATE",
        241: "MEMORY_LIMIT_EXCEEDED",
        258: "UNION_ALL_RESULT_STRUCTURES_MISMATCH",
        306: "TOO_DEEP_RECURSION",
        376: "CANNOT_PARSE_UUID",
        394: "QUERY_WAS_CANCELLED",
        395: "FUNCTION_THROW_IF_VALUE_IS_NON_ZERO",
        396: "TOO_MANY_ROWS_OR_BYTES",
        407: "DECIMAL_OVERFLOW",
        427: "CANNOT_COMPILE_REGEXP",
        467: "CANNOT_PARSE_BOOL",
        558: "EXPECTED_ALL_OR_DISTINCT",
        675: "CANNOT_PARSE_IPV4",
        676: "CANNOT_PARSE_IPV6",
        691: "UNKNOWN_ELEMENT_OF_ENUM",
    },
    501: {48: "NOT_IMPLEMENTED"},
    503: {202: "TOO_MANY_SIMULTANEOUS_QUERIES", 241: "MEMORY_LIMIT_EXCEEDED"},
}
"""What a statement, rows or an operation may earn by itself and ClickHouse answers as a server's error: engine codes by
status. Another one is a failure of ours. `api/README.md` has the same list."""


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
