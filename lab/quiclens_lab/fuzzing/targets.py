"""What can be fuzzed, what each target begins with, and when it has had enough."""

from dataclasses import dataclass

from quiclens_lab.errors import CannotTryError


@dataclass(frozen=True, slots=True)
class FuzzTarget:
    """One target: a binary of `collectors/fuzz`, or a function of `surfaces.py`."""

    name: str
    seeds: tuple[str, ...] = ()  # kinds of `seeds.py`
    enough: int = 1_000_000  # executions; or the hours of `is_done`
    longest: int = 4096  # bytes of an input
    is_python: bool = False
    short: int = 5000  # executions of a short turn


_READER = 10_000_000
# An input costs what it is long. Below 1 KiB, three times as many inputs a second meet as many edges; what needs many
# records is made of few by `lengthened` in `collectors/fuzz/src/rows.rs`.
_FEW_RECORDS = 768

TARGETS = (
    FuzzTarget("sequence", ("files",), 100_000_000, 128),
    FuzzTarget("stream_lines", ("rows",), 100_000_000, 64),
    FuzzTarget("json", ("records",), _READER),
    FuzzTarget("numbers", (), _READER, 64),
    FuzzTarget("qlog_record", ("records",), _READER),
    FuzzTarget("quic_trace_row", ("rows",), _READER, 1024),
    FuzzTarget("sniff", ("files", "records"), _READER),
    FuzzTarget("header", ("headers",), _READER, 512, short=500),
    FuzzTarget("document", ("files",), _READER, 1024),
    FuzzTarget("file", ("files", "compressed"), _READER, _FEW_RECORDS, short=500),
    FuzzTarget("compressed", ("files", "compressed"), _READER, 1024),
    FuzzTarget("records", ("files",), _READER, _FEW_RECORDS, short=500),
    FuzzTarget("export", ("files",), _READER, _FEW_RECORDS, short=500),
    FuzzTarget("access_line", ("lines",), _READER, 1024),
    FuzzTarget("access_format", (), _READER, 512),
    FuzzTarget("redact", ("values",), _READER, 512),
    FuzzTarget("address", (), _READER, 80),
    FuzzTarget("fold"),
    FuzzTarget("checkpoint", ("files",), longest=_FEW_RECORDS, short=500),
    FuzzTarget("journal", (), longest=2048),
    FuzzTarget("spool", (), longest=2048),
    FuzzTarget("codecs", ("bodies",), 100_000, 2048, is_python=True),
    FuzzTarget("form", ("forms",), 100_000, 2048, is_python=True),
    FuzzTarget("protocol", ("requests",), 100_000, 8192, is_python=True),
    FuzzTarget("where", ("conditions",), 100_000, 8192, is_python=True),
    FuzzTarget("arrow_message", ("messages",), 100_000, 32_768, is_python=True),
    FuzzTarget("statement", ("statements",), 100_000, 64, is_python=True, short=1000),
)

ENOUGH_CPU_S = 2 * 3600.0
QUIET_CPU_S = 1800.0


def is_done(target: FuzzTarget, executions: int, cpu_s: float, quiet_cpu_s: float) -> bool:
    """Enough executions; or two hours of processor time, the last half hour of them without a new edge."""
    return executions >= target.enough or (cpu_s >= ENOUGH_CPU_S and quiet_cpu_s >= QUIET_CPU_S)


def named(names: list[str]) -> list[FuzzTarget]:
    """The targets of these names, or all of them; CannotTryError for a name that no target has."""
    unknown = sorted(set(names) - {target.name for target in TARGETS})
    if unknown:
        known = ", ".join(target.name for target in TARGETS)
        raise CannotTryError(f"no fuzz target {', '.join(unknown)}; there are {known}")
    return [target for target in TARGETS if not names or target.name in names]
