"""What `deploy/docs/stability.md` calls a contract does not go: `contract.toml` has its names, and all are there.

Something new may come. With QUICLENS_KEEP_CONTRACT=1 the file is written anew; read its diff, and announce in the
changelog what goes.
"""

import json
import os
import re
import subprocess
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from api_ran import Run
from document_items import ROOT
from prometheus_client import generate_latest
from quiclens_ingest.metrics import IngestMetrics
from quiclens_schema import catalogue
from serve_process import Served

from quiclens_command_line.app import COMMANDS

KEPT = Path(__file__).with_name("contract.toml")
COLLECTOR = Path(os.environ.get("QUICLENS_COLLECTOR", ROOT / "target/release/quiclens-collector"))
STABILITY = (ROOT / "deploy" / "docs" / "stability.md").read_text(encoding="utf-8")

Names = dict[str, list[str]]


@cache
def kept() -> dict[str, Names]:
    """Kinds of things, their names, and what each has."""
    read: dict[str, Names] = tomllib.loads(KEPT.read_text(encoding="utf-8")) if KEPT.is_file() else {}
    return read


def there(kind: str, now: Names) -> None:
    """Keep what is there of a kind, where that is asked for, and compare."""
    if os.environ.get("QUICLENS_KEEP_CONTRACT"):
        keep(kind, now)
    compare(kind, now)


def compare(kind: str, now: Names) -> None:
    """Everything that was kept of a kind is there."""
    gone = {
        name: sorted(set(parts) - set(now.get(name, [])))
        for name, parts in kept()[kind].items()
        if name not in now or set(parts) - set(now[name])
    }
    assert kept()[kind] and gone == {}


def keep(kind: str, now: Names) -> None:
    everything = {**kept(), kind: {name: sorted(parts) for name, parts in sorted(now.items())}}
    blocks = []
    for each, names in sorted(everything.items()):
        lines = [f"{json.dumps(name)} = {json.dumps(parts)}" for name, parts in names.items()]
        blocks.append("\n".join([f"[{each}]", *lines]) + "\n")
    KEPT.write_text("# Names that stay: deploy/docs/stability.md, test_documents_contract.py.\n\n" + "\n".join(blocks))
    kept.cache_clear()


def row(of: str) -> str:
    """What the page promises of something."""
    (found,) = re.findall(rf"(?m)^\| {of}[^|]*\|([^|]*)\|", STABILITY)
    return str(found)


def test_columns_of_the_promised_tables_stay() -> None:
    promised = re.findall(r"`(\w+)`", row("tables").partition("the views")[0])
    tables = catalogue.load().tables
    there("tables", {name: [f"{each.name} {each.type}" for each in tables[name].columns] for name in promised})


def test_topics_stay_with_the_table_that_each_carries() -> None:
    """Its columns are the table's; a batch may be narrower."""
    assert "names, headers and Arrow columns" in row("topics")
    found = {}
    for path in (ROOT / "schema" / "topics").glob("*.toml"):
        found[path.stem] = [str(tomllib.loads(path.read_text(encoding="utf-8")).get("table", ""))]
    there("topics", found)
    readme = (ROOT / "schema" / "README.md").read_text(encoding="utf-8")
    headers = re.findall(r"`(\w+)`", "\n".join(re.findall(r"(?ms)^\| header \| \|\n(.*?)\n\n", readme)))
    written = (ROOT / "collectors" / "agent" / "src" / "run" / "to_kafka.rs").read_text(encoding="utf-8")
    named = [header for header in headers if re.fullmatch(r"[a-z_]+", header)]
    assert len(named) >= 6 and [header for header in named if f'"{header}"' not in written] == []


def test_commands_stay_with_their_options(run: Run) -> None:
    assert "names, arguments, options, exit codes" in row("commands")
    there("quiclens", {command: options(run(command, "--help").out) for command in COMMANDS})


@pytest.mark.skipif(not COLLECTOR.is_file(), reason="no quiclens-collector: cargo build --release")
def test_commands_of_the_collector_stay_with_their_options() -> None:
    told = helped()
    commands = re.findall(r"(?m)^  ([a-z]+) ", told.partition("Commands:")[2].partition("Options:")[0])
    there("quiclens-collector", {name: options(helped(name)) for name in commands if name != "help"})


def helped(*words: str) -> str:
    return subprocess.run([COLLECTOR, *words, "--help"], capture_output=True, text=True, check=True).stdout


def options(told: str) -> list[str]:
    return sorted(set(re.findall(r"--[a-z][a-z-]+", told)))


def test_keys_below_api_stay(served: Served) -> None:
    assert "below `/api/v1/`" in row("JSON")
    document = json.loads(served.request(b"", "GET", "/api/openapi.json", {}).body)
    schemas: dict[str, Any] = document["components"]["schemas"]
    there("keys", {name: list(schema.get("properties", {})) for name, schema in schemas.items()})
    there("addresses", {path: list(methods) for path, methods in document["paths"].items()})


def test_metrics_stay(served: Served) -> None:
    assert "names, labels and units on `/metrics`" in row("metrics")
    source = (ROOT / "collectors" / "agent" / "src" / "run" / "metrics.rs").read_text(encoding="utf-8")
    texts = {
        "serve": served.request(b"", "GET", "/metrics", {}).text,
        "ingest": generate_latest(IngestMetrics().registry).decode(),
    }
    found = {name: re.findall(r"(?m)^# TYPE (\w+) ", text) for name, text in texts.items()}
    found["collector"] = re.findall(r'\badd\(\s*\w+,\s*"(\w+)"', source)
    # `_created` is the library's, and goes with its settings.
    there("metrics", {name: [each for each in names if not each.endswith("_created")] for name, names in found.items()})
    (builds,) = re.findall(r"the metrics (.*?) say what runs", STABILITY)
    told = {f"quiclens_{name}_build_info" for name in found}
    assert set(re.findall(r"`(\w+)`", builds)) == told
    assert all(f"{name}_build_info" in text for name, text in (("quiclens_serve", texts["serve"]),
                                                              ("quiclens_ingest", texts["ingest"])))  # fmt: skip


def test_reasons_of_rejects_stay() -> None:
    assert "`schema/catalogue/rejects.toml`" in STABILITY
    there("rejects", {reason.name: [] for reason in catalogue.load().reasons})


@pytest.mark.parametrize("lost", ["a name", "a part"])
def test_what_goes_is_told(lost: str) -> None:
    now = {name: list(parts) for name, parts in kept()["quiclens"].items()}
    if lost == "a name":
        del now["slow"]
    else:
        now["slow"].remove("--by")
    with pytest.raises(AssertionError, match="slow"):
        compare("quiclens", now)
