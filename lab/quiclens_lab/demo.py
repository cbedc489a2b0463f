"""Makes folders of traces: runs plans, in several processes when asked, and writes what they logged."""

import logging
import multiprocessing
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

from quiclens_lab.access_log import Line, h2_line, lines_of, write_access_log
from quiclens_lab.errors import LabError
from quiclens_lab.plan import ConnectionPlan
from quiclens_lab.strikes import run_plan
from quiclens_lab.traces import write_traces

H2_SHARE = 8  # one HTTP/2 line beside so many of HTTP/3, at most one a connection
ACCESS_LOG = "access.jsonl"
OPERATIONS_FOLDER = "operations"


@dataclass(frozen=True)
class MadeConnection:
    """What one connection left behind."""

    lines: tuple[Line, ...]
    events: int
    files: int


@dataclass(frozen=True)
class DemoSummary:
    """What was made; printed as the command's one JSON document."""

    connections: int
    requests: int
    events: int
    files: int
    seconds: float

    def as_json(self) -> dict[str, int | float]:
        return asdict(self)


def make_connection(plan: ConnectionPlan, folder: Path, with_client_trace: bool) -> MadeConnection:
    """Simulate one plan and write its traces."""
    logging.getLogger("quic").setLevel(logging.CRITICAL)
    run = run_plan(plan, with_client_trace)
    if run.steps >= plan.max_steps:
        raise LabError(f"connection {run.connection_id} did not end within {plan.max_steps} steps")
    events, files = write_traces(run, folder)
    return MadeConnection(tuple(lines_of(run)), events, files)


def make_folder(
    plans: Sequence[ConnectionPlan],
    folder: Path,
    with_client_traces: bool,
    jobs: int = 1,
    with_h2_lines: bool = False,
    progress: Callable[[int, int], None] = lambda _done, _total: None,
) -> DemoSummary:
    """Write the traces of all plans and their access log. The files do not depend on the number of processes."""
    started = time.monotonic()
    made: list[MadeConnection] = []
    work = partial(make_connection, folder=folder, with_client_trace=with_client_traces)
    for each in _mapped(work, plans, jobs):
        made.append(each)
        progress(len(made), len(plans))
    lines = [line for each in made for line in each.lines]
    if with_h2_lines:
        wanted = min(len(plans), max(1, len(lines) // H2_SHARE))
        lines += [h2_line(plans[each * len(plans) // wanted], 0) for each in range(wanted)]
    requests = write_access_log(lines, folder / ACCESS_LOG)
    return DemoSummary(
        connections=len(plans),
        requests=requests,
        events=sum(each.events for each in made),
        files=sum(each.files for each in made) + 1,
        seconds=round(time.monotonic() - started, 3),
    )


def _mapped(
    work: Callable[[ConnectionPlan], MadeConnection], plans: Sequence[ConnectionPlan], jobs: int
) -> Iterator[MadeConnection]:
    if jobs <= 1 or len(plans) < 2:
        yield from map(work, plans)
        return
    with multiprocessing.get_context("spawn").Pool(jobs) as pool:
        yield from pool.imap(work, plans, chunksize=4)


def prepare_folder(folder: Path, replace_old: bool) -> None:
    """Make the folder; traces of an earlier run in it are only removed when that was asked for."""
    old = [*folder.glob("server/*.qlog"), *folder.glob("client/*.qlog"), *folder.glob(ACCESS_LOG)]
    old += folder.glob(f"{OPERATIONS_FOLDER}/*/*.sqlog")
    if old and not replace_old:
        raise LabError(f"{folder} already holds {len(old)} files of an earlier run; --replace removes them")
    for each in old:
        each.unlink()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise LabError(f"cannot make {folder}: {error.strerror}") from error
