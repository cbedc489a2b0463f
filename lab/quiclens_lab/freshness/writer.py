"""A process that writes what many busy servers would: growing JSON-SEQ files and an access log, at N events a second.

    python -m quiclens_lab.freshness.writer TEMPLATES FOLDER --rate N --seconds N --number N

Connections begin so often that their events are N a second; each record is written at its own time. On stdout, a line
of JSON each: {"written": events so far, "at"} every second; {"request": [connection, stream, last_seq], "at"} for the
sampled connections, whose ids begin with `feed`, when the request's last record was written.
"""

import argparse
import json
import sys
import time
from bisect import bisect_right
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO, TextIO

from quiclens_lab.draws import digest
from quiclens_lab.freshness.templates import Template, kept

TICK_S = 0.02
SAMPLED = 8  # one of so many connections
PREFIX = "feed"


class Telling:
    """One connection's file, written as time goes on."""

    def __init__(self, template: Template, connection_id: str, folder: Path, now: float) -> None:
        self._template = template
        self._id = connection_id
        self._body = template.body.replace(template.connection_id, connection_id.encode())
        self._file: BinaryIO = (folder / f"{connection_id}.sqlog").open("wb", buffering=0)
        self._began, self._began_ms = now, time.time() * 1000
        self._file.write(template.header(connection_id.encode(), round(self._began_ms, 3)))
        self._next = self._next_line = 0
        self._waiting = sorted(template.requests, key=lambda each: each.last_seq)

    def go_on(self, now: float, access_log: TextIO) -> int:
        """Write what is due; how many records that was, or -1 when it was the last of them before."""
        template, since_ms = self._template, (now - self._began) * 1000
        if self._next == template.events:
            self.end()
            return -1
        until = bisect_right(template.times_ms, since_ms, self._next)
        if until > self._next:
            start = template.ends[self._next - 1] if self._next else 0
            self._file.write(self._body[start : template.ends[until - 1]])
        written, self._next = until - self._next, until
        while self._waiting and self._waiting[0].last_seq < until:
            request = self._waiting.pop(0)
            if self._id.startswith(PREFIX):
                _say({"request": [self._id, request.stream_id, request.last_seq], "at": time.time()})
        while self._next_line < len(template.lines) and template.lines[self._next_line].at_ms <= since_ms:
            self._log(access_log)
        return written

    def end(self) -> None:
        """No more of it is written."""
        self._file.close()

    def _log(self, access_log: TextIO) -> None:
        line = self._template.lines[self._next_line]
        self._next_line += 1
        at = datetime.fromtimestamp((self._began_ms + line.started_ms) / 1000, UTC).isoformat()
        fields = {
            **line.fields,
            "time": at,
            "connection_id": self._id,
            "external_id": f"{self._id}-{line.fields['stream_id']}",
        }
        access_log.write(json.dumps(fields) + "\n")


def _say(document: dict[str, object]) -> None:
    sys.stdout.write(json.dumps(document) + "\n")


def write(templates: list[Template], folder: Path, rate: float, seconds: float, number: int) -> None:
    """Write for so many seconds; `number` tells one writer's ids from another's."""
    began = said = time.monotonic()
    begun = written = count = 0
    telling: list[Telling] = []
    (folder / "traces").mkdir(parents=True, exist_ok=True)
    with (folder / "access.jsonl").open("a", buffering=1 << 16) as access_log:
        while (now := time.monotonic()) < began + seconds:
            while begun < rate * (now - began):
                template = templates[count % len(templates)]
                name = digest(number, "told", count).hex()
                name = (PREFIX if count % SAMPLED == 0 else "a0a0") + name[4:]
                telling.append(Telling(template, name, folder / "traces", now))
                begun += template.events
                count += 1
            due = [(each, each.go_on(now, access_log)) for each in telling]
            telling = [each for each, records in due if records >= 0]
            written += sum(records for _, records in due if records > 0)
            access_log.flush()
            if now - said >= 1:
                said = now
                _say({"written": written, "at": time.time()})
            sys.stdout.flush()
            time.sleep(max(0.0, now + TICK_S - time.monotonic()))
    for each in telling:
        each.end()


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m quiclens_lab.freshness.writer", description=__doc__)
    parser.add_argument("templates", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--rate", type=float, required=True)
    parser.add_argument("--seconds", type=float, required=True)
    parser.add_argument("--number", type=int, required=True)
    options = parser.parse_args()
    write(kept(options.templates), options.folder, options.rate, options.seconds, options.number)


if __name__ == "__main__":
    main()
