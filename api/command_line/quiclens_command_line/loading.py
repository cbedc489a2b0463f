"""Loading into a store, with progress for whoever waits at a terminal."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from quiclens_ingest.frames import Progress
from quiclens_ingest.load import LoadError
from quiclens_ingest.load import load as load_files
from quiclens_schema.migrate import migrate
from quiclens_schema.store import Store

from quiclens_command_line.output import errors, say
from quiclens_questions import collector
from quiclens_questions.client_secret import client_secret
from quiclens_questions.failure import CannotRun
from quiclens_questions.units import size

if TYPE_CHECKING:
    from rich.progress import Progress as Bar  # imported where there is a terminal to draw on


def load_into(
    store: Store,
    paths: Sequence[Path],
    requests: Sequence[Path],
    requests_format: Path | None = None,
    *,
    redact: bool = False,
    requests_host: str | None = None,
) -> dict[str, Any]:
    """Migrate the store, load, link; the document of `load`."""
    program = collector.find()
    migrate(store)
    try:
        with _shown() as watch, client_secret(store) as secret:
            summary = load_files(
                store,
                list(paths),
                list(requests),
                collector=program,
                requests_format=requests_format,
                client_secret=secret,
                redact=redact,
                requests_host=requests_host,
                progress=watch,
            )
    except LoadError as error:
        raise CannotRun("load_failed", str(error), "what was stored stays; load again to make it whole") from error
    return summary.document()


class _Watch:
    """Moves a bar at a terminal; does nothing elsewhere."""

    def __init__(self, bar: "Bar | None") -> None:
        self._bar = bar
        self._task = None if bar is None else bar.add_task("loading", total=None, told="")

    def __call__(self, now: Progress) -> None:
        if self._bar is None or self._task is None:
            return
        elapsed = max(self._bar.tasks[0].elapsed or 0, 1e-3)
        told = f"{now.files:,} of {now.files_total:,} files, {size(now.bytes / elapsed)}/s, "
        told += f"{now.events / elapsed:,.0f} events/s" + (f", {now.rejected:,} rejected" if now.rejected else "")
        self._bar.update(self._task, total=now.bytes_total or None, completed=now.bytes, told=told)


@contextmanager
def _shown() -> Iterator[_Watch]:
    console = errors()
    if not console.is_terminal:
        say("loading …")
        yield _Watch(None)
        return
    from rich.progress import BarColumn, TextColumn
    from rich.progress import Progress as Bar

    columns = (TextColumn("loading"), BarColumn(), TextColumn("{task.fields[told]}"))
    with Bar(*columns, console=console, transient=True) as bar:
        yield _Watch(bar)
