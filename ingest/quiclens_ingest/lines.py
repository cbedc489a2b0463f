"""JSON lines of somebody else's table or topic to rows of `request_lines`.

The collector reads them by the rules by which it reads an access log, and each row is known by the place of its line.
"""

import io
import json
import os
import subprocess
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

import pyarrow as pa
from quiclens_schema.store import Store

from quiclens_ingest.frames import Batch, CollectorSummary, FrameError, frames
from quiclens_ingest.load import LoadError
from quiclens_ingest.mapping import Mapping
from quiclens_ingest.narrow import RowsStored, store_batch

_FIRST = b"\n"
"""An empty line before all others: a file that begins as gzip or zstd does is read as that, and text is meant."""


@dataclass(frozen=True, slots=True)
class JsonLine:
    """One JSON object on one line, and where it stands: what its row is known by."""

    log_id: str
    offset: int
    text: bytes


@dataclass(frozen=True, slots=True)
class Converted:
    """Batches of `request_lines` and `rejects`, and how many lines were rejected, by reason."""

    place: str
    batches: tuple[Batch, ...] = ()
    lines: int = 0
    rejected: dict[str, int] = field(default_factory=dict)

    def insert(self, store: Store) -> RowsStored:
        """Insert all, those that the store refuses as rejects."""
        stored = RowsStored()
        for batch in self.batches:
            stored = stored.plus(store_batch(store, batch, self.place))
        return stored

    def rows(self) -> Iterator[dict[str, Any]]:
        """Rows of `request_lines`."""
        for batch in self.batches:
            if batch.table == "request_lines":
                yield from pa.ipc.open_stream(batch.stream).read_all().to_pylist()

    def rejected_places(self) -> set[int]:
        """Offsets of the lines that were rejected."""
        rejects = [batch for batch in self.batches if batch.table == "rejects"]
        return {
            at for each in rejects for at in pa.ipc.open_stream(each.stream).read_all().column("offset").to_pylist()
        }


class Converter:
    """Runs the collector for some lines at a time; they are held in memory and nowhere else."""

    def __init__(self, mapping: Mapping, collector: Path, client_secret: Path | None) -> None:
        self._mapping = mapping
        self._collector = collector
        self._client_secret = client_secret

    def convert(self, lines: Sequence[JsonLine]) -> Converted:
        """Rows of these lines; LoadError when the collector cannot run, or the format cannot be used."""
        if not lines:
            return Converted(self._mapping.place)
        text = _held(_FIRST + b"".join(line.text + b"\n" for line in lines))
        form = _held(self._mapping.format.encode())
        words = [str(self._collector), "load", "--sink", "-", "--requests", f"/dev/fd/{text}"]
        words += ["--requests-format", f"/dev/fd/{form}", *(["--redact"] if self._mapping.is_redacted else [])]
        if self._client_secret is not None:
            words += ["--client-secret-file", str(self._client_secret)]
        try:
            with TemporaryFile() as complaints:
                done = subprocess.run(
                    words,
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=complaints,
                    pass_fds=(text, form),
                    check=False,
                )
                complaints.seek(0)
                said = complaints.read().decode(errors="replace").strip().splitlines()
        except OSError as error:
            raise LoadError(f"cannot run the collector {self._collector}: {error.strerror}") from error
        finally:
            os.close(text)
            os.close(form)
        if done.returncode != 0:
            why = (
                said[-1].strip().replace(f"/dev/fd/{form}", "[format]") if said else f"it ended with {done.returncode}"
            )
            raise LoadError(f"the collector cannot read the lines of {self._mapping.place}: {why}")
        return self._converted(lines, done.stdout)

    def _converted(self, lines: Sequence[JsonLine], output: bytes) -> Converted:
        ends = list(accumulate((len(line.text) + 1 for line in lines), initial=len(_FIRST)))[1:]
        batches: list[Batch] = []
        rejected: dict[str, int] = {}
        count = 0
        try:
            for frame in frames(io.BytesIO(output)):
                if isinstance(frame, Batch):
                    batches.append(self._placed(frame, lines, ends))
                    count += frame.rows if frame.table == "request_lines" else 0
                elif isinstance(frame, CollectorSummary):
                    rejected = frame.rejected
        except FrameError as error:
            raise LoadError(str(error)) from error
        return Converted(self._mapping.place, tuple(batches), count, rejected)

    def _placed(self, batch: Batch, lines: Sequence[JsonLine], ends: Sequence[int]) -> Batch:
        """The batch with the places of the lines instead of those in what the collector was given."""
        rows = pa.ipc.open_stream(batch.stream).read_all()
        last = len(lines) - 1
        which = [lines[min(bisect_right(ends, place), last)] for place in rows.column("offset").to_pylist()]
        said: dict[str, list[Any]] = {"offset": [line.offset for line in which]}
        said["log_id" if batch.table == "request_lines" else "source"] = [line.log_id for line in which]
        if batch.table == "rejects":
            said["file"] = [self._mapping.place] * len(which)
        for name, values in said.items():
            field = rows.schema.field(name)
            plain = field.type.value_type if pa.types.is_dictionary(field.type) else field.type
            column = pa.array(values, pa.uint64() if name == "offset" else plain)
            rows = rows.set_column(rows.schema.get_field_index(name), name, column)
        out = io.BytesIO()
        with pa.ipc.new_stream(out, rows.schema) as writer:
            writer.write_table(rows.combine_chunks())
        return Batch(batch.table, batch.rows, out.getvalue())


def one_line(text: bytes) -> list[bytes]:
    """The JSON objects of a message, each on one line: most messages are one, some have several, some are written over
    several lines."""
    text = text.strip()
    if b"\n" not in text:
        return [text] if text else []
    try:
        return [json.dumps(json.loads(text), ensure_ascii=False).encode()]
    except (ValueError, RecursionError, UnicodeEncodeError):
        return [line for line in map(bytes.strip, text.split(b"\n")) if line]


def _held(content: bytes) -> int:
    """A descriptor of a file in memory."""
    descriptor = os.memfd_create("quiclens-lines", os.MFD_CLOEXEC)
    with open(descriptor, "wb", closefd=False) as file:
        file.write(content)
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor
