"""Access logs of several hosts that begin with one line, as after a rotation that a health check follows."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

CHECK = {"time": "2026-11-20T00:00:00Z", "time_is": "end", "path": "/health", "duration_us": 1000}


def quiclens(*words: str | Path) -> dict[str, Any]:
    ran = subprocess.run(
        [sys.executable, "-m", "quiclens_command_line", *words, "--json"], capture_output=True, check=True
    )
    document: dict[str, Any] = json.loads(ran.stdout)
    return document


def test_their_lines_stand_beside_each_other_where_each_names_its_host(tmp_path: Path) -> None:
    store = f"chdb:{tmp_path / 'store'}"
    for host in ("edge-1", "edge-2", "edge-1"):  # the third is read again
        log = tmp_path / f"{host}.jsonl"
        log.write_text("".join(json.dumps({**CHECK, "path": path}) + "\n" for path in ("/health", f"/{host}")))
        loaded = quiclens("load", "--requests", log, "--requests-host", host, "--store", store)
        assert loaded["requests"] == 2
    found = quiclens("slow", "--store", store)["requests"]
    assert sorted(row["path"] for row in found) == ["/edge-1", "/edge-2", "/health", "/health"]
