"""A start of the collector in a folder of many logs that it has read before: how long until it reads a new one?

The logs are small, and over. What is judged is the second start: the first one reads everything.
"""

import re
import signal
import subprocess
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from quiclens_lab.collector_bench import write_config
from quiclens_lab.errors import LabError
from quiclens_lab.judgement import Judgement
from quiclens_lab.machine import collector_binary
from quiclens_lab.outside import metrics_address
from quiclens_lab.progress import say

START_S = 10.0
"""From the second start until a log that is written right then has been read."""
FILES = 100_000  # that the bar asks for
_RECORDS = 12
_PATIENCE_S = 900.0


def many_files(files: int, keep: bool) -> dict[str, Any]:
    """Start twice over so many files; `passes` is false where the second start takes longer than its bar, or reads
    records again."""
    judgement = Judgement("many_files", {"files": files, "bar_s": START_S})
    judgement.least("files", FILES, files)
    with tempfile.TemporaryDirectory(prefix="quiclens-many-files-") as scratch:
        folder = Path(scratch)
        logs = folder / "logs"
        logs.mkdir()
        say(f"many-files: {files:,} logs")
        for number in range(files):
            _log(logs, number)
        config = write_config(folder, logs, 0, 'metrics_address = "127.0.0.1:0"\nidle_timeout_s = 1\n')
        took = []
        for life in (1, 2):
            with judgement.stage(f"start {life}"), _started(folder, config, life) as collector:
                _log(logs, files + life)
                wanted = (1 + _RECORDS) * (files + 1 if life == 1 else 1)
                collector.wait_until_read(wanted)
                took.append(round(time.monotonic() - collector.began, 2))
                read = collector.counted("records")
                judgement.want(read == wanted, f"start {life} took {read} records, not {wanted}")
                say(f"many-files: start {life}: {took[-1]} s")
        judgement.found["start_s"] = took
        judgement.want(
            len(took) == 2 and took[1] <= START_S, f"the second start took {took[1:]} s, {START_S} are allowed"
        )
    return judgement.document(keep)


def _log(folder: Path, number: int) -> None:
    header = (
        '{"qlog_version":"0.3","qlog_format":"JSON-SEQ","trace":{"vantage_point":{"type":"server"},'
        f'"common_fields":{{"ODCID":"{number:016x}","reference_time":0}}}}}}'
    )
    event = '{"time":%d,"name":"transport:packet_received","data":{"header":{"packet_type":"1RTT","packet_number":%d}}}'
    records = [header, *(event % (number, number) for number in range(_RECORDS))]
    draft = folder.with_name("draft")
    draft.write_text("".join(f"\x1e{record}\n" for record in records))
    draft.rename(folder / f"{number:08}.sqlog")


class _Collector:
    """One that runs, and what its metrics say."""

    def __init__(self, process: "subprocess.Popen[bytes]", log: Path) -> None:
        self.began = time.monotonic()
        self._process = process
        self._log = log

    def counted(self, name: str) -> int:
        """The sum of a counter; 0 where nothing answers yet."""
        if self._process.poll() is not None:
            raise LabError(f"the collector ended: {self._log.read_text().strip()[-500:]}")
        address = metrics_address(self._log.read_text())
        if address is None:
            return 0
        with urllib.request.urlopen(f"http://{address}/metrics", timeout=60) as answer:
            text = answer.read().decode()
        values = re.findall(rf"^quiclens_collector_{name}_total(?:{{[^}}]*}})? (\d+)$", text, re.MULTILINE)
        if not values:
            raise LabError(f"/metrics has no {name}")
        return sum(map(int, values))

    def wait_until_read(self, records: int) -> None:
        until = time.monotonic() + _PATIENCE_S
        while (read := self.counted("records")) < records:
            if time.monotonic() > until:
                raise LabError(f"{read} records were read, not {records}")
            time.sleep(0.1)


@contextmanager
def _started(folder: Path, config: Path, life: int) -> Iterator[_Collector]:
    log = folder / f"log-{life}"
    with log.open("wb") as file:
        process = subprocess.Popen([collector_binary(), "run", config], stderr=file)
    try:
        yield _Collector(process, log)
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait()
