"""What can be fuzzed, what each target begins with, and when it has had enough."""

from dataclasses import dataclass

from quiclens_lab.errors import CannotTryError


@dataclass(frozen=True, slots=True)
class Target:
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
    Target("sequence", ("files",), 100_000_000, 128),
    Target("stream_lines", ("rows",), 100_000_000, 64),
    Target("json", ("records",), _READER),
    Target("numbers", (), _READER, 64),
    Target("qlog_record", ("records",), _READER),
    Target("quic_trace_row", ("rows",), _READER, 1024),
    Target("sniff", ("files", "records"), _READER),
    Target("header", ("headers",), _READER, 512, short=500),
    Target("document", ("files",), _READER, 1024),
    Target("file", ("files", "compressed"), _READER, _FEW_RECORDS, short=500),
    Target("compressed", ("files", "compressed"), _READER, 1024),
    Target("records", ("files",), _READER, _FEW_RECORDS, short=500),
    Target("export", ("files",), _READER, _FEW_RECORDS, short=500),
    Target("access_line", ("lines",), _READER, 1024),
    Target("access_format", (), _READER, 512),
    Target("redact", ("values",), _READER, 512),
    Target("address", (), _READER, 80),
    Target("fold"),
    Target("checkpoint", ("files",), longest=_FEW_RECORDS, short=500),
    Target("journal", (), longest=2048),
    Target("spool", (), longest=2048),
    Target("codecs", ("bodies",), 100_000, 2048, is_python=True),
    Target("form", ("forms",), 100_000, 2048, is_python=True),
    Target("protocol", ("requests",), 100_000, 1024, is_python=True),
    Target("where", ("conditions",), 100_000, 256, is_python=True),
    Target("arrow_message", ("messages",), 100_000, 32_768, is_python=True),
    Target("statement", ("statements",), 100_000, 64, is_python=True, short=1000),
)

ENOUGH_CPU_S = 2 * 3600.0
QUIET_CPU_S = 1800.0


def is_done(target: Target, executions: int, cpu_s: float, quiet_cpu_s: float) -> bool:
    """Enough executions; or two hours of processor time, the last half hour of them without a new edge."""
    return executions >= target.enough or (cpu_s >= ENOUGH_CPU_S and quiet_cpu_s >= QUIET_CPU_S)


def named(names: list[str]) -> list[Target]:
    """The targets of these names, or all of them; CannotTryError for a name that no target has."""
    unknown = sorted(set(names) - {target.name for target in TARGETS})
    if unknown:
        known = ", ".join(target.name for target in TARGETS)
        raise CannotTryError(f"no fuzz target {', '.join(unknown)}; there are {known}")
    return [target for target in TARGETS if not names or target.name in names]
