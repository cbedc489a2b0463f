"""Simulates and judges jobs batch by batch; the traces of a batch are gone when its rows are there."""

import logging
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from quiclens_lab.aioquic_pair import ConnectionRun
from quiclens_lab.batches import mapped
from quiclens_lab.errors import LabError
from quiclens_lab.path import PathFacts
from quiclens_lab.strikes import run_plan
from quiclens_lab.traces import write_traces
from quiclens_lab.truth.collector import judge
from quiclens_lab.truth.kept_runs import KeptRuns, own_code
from quiclens_lab.truth.samples import WITHOUT_TAG, Job, Judged, Row

BATCH_RUNS = 40
Progress = Callable[[int, int], None]


def judged_runs(
    jobs: Sequence[Job], collector: Path, processes: int, progress: Progress, kept: KeptRuns
) -> list[Judged]:
    """Every job, judged, in the order of the jobs whatever the number of processes and what was kept."""
    batches = [jobs[at : at + BATCH_RUNS] for at in range(0, len(jobs), BATCH_RUNS)]
    names = [f"{own_code()} {[each.sample for each in batch]}" for batch in batches]
    found = [kept.get(name) for name in names]
    missing = [number for number, each in enumerate(found) if each is None]
    done = sum(len(each) for each in found if each is not None)
    made = mapped(partial(judged_batch, collector=collector), [batches[number] for number in missing], processes)
    for number, each in zip(missing, made, strict=True):
        kept.put(names[number], each)
        found[number] = each
        done += len(each)
        progress(done, len(jobs))
    return [run for each in found if each is not None for run in each]


def judged_batch(jobs: Sequence[Job], collector: Path) -> list[Judged]:
    """Simulate some jobs into a temporary folder and have the collector judge all of it at once."""
    logging.getLogger("quic").setLevel(logging.CRITICAL)
    with tempfile.TemporaryDirectory(prefix="quiclens-truth-") as scratch:
        folder = Path(scratch)
        made = [_simulated(job, folder / str(number)) for number, job in enumerate(jobs)]
        rows = judge(collector, [folder])
        by_run: dict[str, list[Row]] = {}
        for path, found in rows.items():
            by_run.setdefault(path.relative_to(folder).parts[0], []).extend(found)
    return [
        Judged(replace(job.sample, path=path), tuple(by_run.get(str(number), ())), marked_us)
        for number, (job, (marked_us, path)) in enumerate(zip(jobs, made, strict=True))
    ]


def _simulated(job: Job, folder: Path) -> tuple[int | None, PathFacts]:
    """Write a job's traces; return how long the target took by the server's own marks, and what the path did.

    The client's trace is needed where it is judged, and once per scenario run for the sums.
    """
    sample = job.sample
    run = run_plan(job.plan, with_client_trace=sample.vantage == "client" or sample.variant == "with")
    if not run.is_finished:
        raise LabError(f"{sample.scenario} {sample.variant}, seed {sample.seed}: the requests were not all answered")
    write_traces(run, folder, leaves_tag_out=WITHOUT_TAG in sample.condition.split())
    return _marked_us(run, sample.stream_id), run.path


def _marked_us(run: ConnectionRun, stream_id: int) -> int | None:
    for exchange in run.exchanges:
        if exchange.stream_id == stream_id and exchange.acknowledged_us is not None:
            return exchange.acknowledged_us - exchange.arrived_us
    return None
