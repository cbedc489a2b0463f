"""One run of libFuzzer: what it is started with, what it says, and what it found."""

import os
import re
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

TIMEOUT_S = 20  # by the wall's clock, which other work on the machine slows
RSS_MIB = 2048

_PROGRESS = re.compile(rb"#(\d+)\s+(\w+)\s+cov: (\d+)")
_EXECUTED = re.compile(rb"stat::number_of_executed_units:\s+(\d+)")
_SAYS = re.compile(rb"panicked at|ERROR: libFuzzer|Uncaught Python exception")
_INTERRUPTED = 72


@dataclass(frozen=True, slots=True)
class FuzzRun:
    """What one run of a target did."""

    executions: int
    edges: int
    cpu_s: float
    quiet_cpu_s: float  # processor time since it met an edge that no earlier run had
    found: Path | None = None
    said: str = ""
    is_interrupted: bool = False


def run(
    command: Sequence[str],
    folder: Path,
    options: Mapping[str, int],
    known_edges: int = 0,
    environment: Mapping[str, str] | None = None,
) -> FuzzRun:
    """Run a target on `folder`, which has its corpus, seeds and findings; `known_edges`: of earlier runs.

    What was found there is tried first: one that still fails is the finding of this run too, and one that the target
    takes becomes a part of the corpus."""
    corpus, found = folder / "corpus", folder / "found"
    for each in (corpus, found):
        each.mkdir(parents=True, exist_ok=True)
    for path in sorted(findings(folder)):
        if said_of_it := _tried(command, path, environment):
            return FuzzRun(0, known_edges, 0.0, 0.0, path, said_of_it)
        path.rename(corpus / path.name)
    flags = {"timeout": TIMEOUT_S, "rss_limit_mb": RSS_MIB, "print_final_stats": 1, "reload": 0, **options}
    words = folder.parent / "words.dict"
    arguments = [*command, *(f"-{name}={value}" for name, value in flags.items()), f"-dict={words}"]
    arguments += [f"-artifact_prefix={found}/", str(corpus), str(folder / "seeds")]
    process = subprocess.Popen(
        arguments,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env=_environment(environment),
        preexec_fn=lambda: os.nice(19 - os.nice(0)),
    )
    assert process.stdout is not None
    executions, edges, at_new_edge, said = 0, known_edges, 0.0, b""
    with process.stdout as told, (folder / "log").open("wb") as log:
        for line in told:
            log.write(line)
            if match := _PROGRESS.match(line):
                executions = max(executions, int(match[1]))
                if int(match[3]) > edges:
                    edges, at_new_edge = int(match[3]), _cpu_s(process.pid)
            elif match := _EXECUTED.match(line):
                executions = int(match[1])
            elif _SAYS.search(line) and len(said) < 2000:
                said += line.strip() + b" " + next(told, b"").strip() + b" "
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    cpu_s = usage.ru_utime + usage.ru_stime
    new = sorted(findings(folder))
    failed = process.returncode not in (0, _INTERRUPTED)
    text = said.decode(errors="replace")[:600].strip() if failed or new else ""
    return FuzzRun(
        executions,
        edges,
        round(cpu_s, 1),
        round(cpu_s - at_new_edge, 1),
        new[0] if new else (folder / "log" if failed else None),
        text,
        process.returncode == _INTERRUPTED,
    )


def _environment(more: Mapping[str, str] | None) -> Mapping[str, str]:
    return {**os.environ, "RUST_BACKTRACE": "0", **(more or {})}


def findings(folder: Path) -> list[Path]:
    """Inputs of a target that failed, and were not tried again since."""
    found = folder / "found"
    return [path for path in found.iterdir() if not path.name.startswith("slow-")] if found.is_dir() else []


def _tried(command: Sequence[str], path: Path, environment: Mapping[str, str] | None) -> str:
    """What a target says that fails on this input; nothing, where it takes it."""
    words = [*command, f"-timeout={TIMEOUT_S}", f"-rss_limit_mb={RSS_MIB}", str(path)]
    try:
        done = subprocess.run(
            words,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=_environment(environment),
            timeout=6 * TIMEOUT_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return "it does not end"
    if done.returncode == 0:
        return ""
    lines = done.stdout.splitlines()
    at = next((number for number, line in enumerate(lines) if _SAYS.search(line)), max(len(lines) - 2, 0))
    return b" ".join(lines[at : at + 2]).decode(errors="replace")[:600].strip() or f"exit code {done.returncode}"


def _cpu_s(pid: int) -> float:
    """Processor time of a process so far, s; 0 when it is gone."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
