"""The alert rules of `deploy/prometheus`: each is about metrics that there are, has a section of the runbook, and
speaks of its fault and of no other (promtool, where it is installed)."""

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
RULES = ROOT / "deploy" / "prometheus" / "quiclens.rules.yaml"
RUNBOOK = ROOT / "deploy" / "docs" / "pipeline-runbook.md"
BEGAN, ASKED = 140, 60  # minutes until a fault begins, and from then until alerts are looked at
OF_A_DAY = {"QuiclensCollectorVersionsDiffer"}  # rules that wait a day

Row = dict[str, Any]


def rules() -> list[Row]:
    groups = yaml.safe_load(RULES.read_text(encoding="utf-8"))["groups"]
    return [rule for group in groups for rule in group["rules"]]


NAMES = [rule["alert"] for rule in rules()]
EDGES = [f"edge-{number}" for number in range(1, 11)]
WELL = {
    **{f'up{{job="quiclens-collector",instance="{edge}"}}': "1x{n}" for edge in EDGES},
    'up{job="quiclens-ingest",instance="i"}': "1x{n}",
    'up{job="quiclens-web",instance="w"}': "1x{n}",
    'quiclens_collector_seconds_since_acknowledged{instance="edge-1"}': "2x{n}",
    'quiclens_collector_behind_bytes{instance="edge-1"}': "1000x{n}",
    'quiclens_collector_events_dropped_total{instance="edge-1"}': "0x{n}",
    'quiclens_collector_kernel_drops_total{instance="edge-1"}': "0x{n}",
    'quiclens_collector_spool_refusals_total{instance="edge-1"}': "0x{n}",
    'quiclens_collector_outbox_refusals_total{instance="edge-1"}': "0x{n}",
    'quiclens_collector_files_waiting{instance="edge-1"}': "0x{n}",
    'quiclens_collector_damaged_checkpoints_total{instance="edge-1"}': "0x{n}",
    'quiclens_collector_rejects_total{instance="edge-1",reason="no_time"}': "0+1x{n}",
    'quiclens_collector_records_total{instance="edge-1"}': "0+10000x{n}",
    'quiclens_collector_build_info{instance="edge-1",version="0.1.1"}': "1x{n}",
    'quiclens_collector_build_info{instance="edge-2",version="0.1.1"}': "1x{n}",
    'quiclens_ingest_lag_messages{topic="quic.events.v1",partition="0"}': "10x{n}",
    'quiclens_ingest_blocks_total{table="events"}': "0+30x{n}",
    'quiclens_ingest_freshness_seconds_bucket{table="events",le="5"}': "0+10x{n}",
    'quiclens_ingest_freshness_seconds_bucket{table="events",le="60"}': "0+10x{n}",
    'quiclens_ingest_freshness_seconds_bucket{table="events",le="+Inf"}': "0+10x{n}",
    'quiclens_ingest_offsets_missed_total{topic="quic.events.v1"}': "0x{n}",
    'quiclens_ingest_rejects_total{reason="not_arrow"}': "0x{n}",
    'quiclens_ingest_heartbeat_made_at_seconds{collector="edge-1"}': "0+60x{n}",
    "quiclens_ingest_linking": "1x{n}",
    "quiclens_ingest_link_failures_total": "0x{n}",
    'quiclens_serve_unexpected_errors_total{route="/requests"}': "0x{n}",
    'quiclens_serve_responses_total{method="GET",route="/",status="200"}': "0+100x{n}",
    'quiclens_serve_responses_total{method="GET",route="/",status="503"}': "0x{n}",
    'quiclens_serve_refused_requests_total{why="wrong token"}': "0x{n}",
    "quiclens_serve_sweeps_failed_total": "0x{n}",
}
# What is planted for each alert: series that take the place of those of a system that is well.
FAULTS: dict[str, dict[str, str]] = {
    "QuiclensCollectorDown": {'up{job="quiclens-collector",instance="edge-1"}': "1x{b} 0x100"},
    "QuiclensManyCollectorsDown": {
        f'up{{job="quiclens-collector",instance="{edge}"}}': "1x{late} 0x48" for edge in EDGES[:3]
    },
    "QuiclensCollectorNotAcknowledged": {
        'quiclens_collector_seconds_since_acknowledged{instance="edge-1"}': "2x{b} 0+60x100"
    },
    "QuiclensCollectorBehind": {'quiclens_collector_behind_bytes{instance="edge-1"}': "1000x{b} 60000000+1000000x100"},
    "QuiclensEventsDropped": {'quiclens_collector_events_dropped_total{instance="edge-1"}': "0x{c} 5x50"},
    "QuiclensSpoolFull": {'quiclens_collector_spool_refusals_total{instance="edge-1"}': "0x{b} 0+9x100"},
    "QuiclensCollectorShortOfDescriptors": {'quiclens_collector_files_waiting{instance="edge-1"}': "0x{b} 7x100"},
    "QuiclensCheckpointDamaged": {'quiclens_collector_damaged_checkpoints_total{instance="edge-1"}': "0x{c} 1x50"},
    "QuiclensCollectorRejects": {
        'quiclens_collector_rejects_total{instance="edge-1",reason="no_time"}': "0x{e} 0+500x200"
    },
    "QuiclensCollectorVersionsDiffer": {
        'quiclens_collector_build_info{instance="edge-2",version="0.1.1"}': "_x{n}",
        'quiclens_collector_build_info{instance="edge-2",version="0.2.0"}': "1x{n}",
    },
    "QuiclensIngestDown": {'up{job="quiclens-ingest",instance="i"}': "1x{b} 0x100"},
    "QuiclensNothingStored": {'quiclens_ingest_blocks_total{table="events"}': "0+30x{b} {b30}x100"},
    "QuiclensIngestBehind": {
        'quiclens_ingest_lag_messages{topic="quic.events.v1",partition="0"}': "10x{b} 6000+50x100"
    },
    "QuiclensNotFresh": {'quiclens_ingest_freshness_seconds_bucket{table="events",le="5"}': "0+10x{b} {b10}+5x100"},
    "QuiclensMessagesMissed": {'quiclens_ingest_offsets_missed_total{topic="quic.events.v1"}': "0x{c} 40x45"},
    "QuiclensMessagesRefused": {'quiclens_ingest_rejects_total{reason="not_arrow"}': "0x{c} 1x45"},
    "QuiclensCollectorSilent": {'quiclens_ingest_heartbeat_made_at_seconds{collector="edge-1"}': "0+60x{b} {b60}x100"},
    "QuiclensNobodyLinks": {"quiclens_ingest_linking": "1x{b} 0x100"},
    "QuiclensLinkingFails": {"quiclens_ingest_link_failures_total": "0x{b} 0+1x100"},
    "QuiclensWebDown": {'up{job="quiclens-web",instance="w"}': "1x{b} 0x100"},
    "QuiclensUnexpectedErrors": {'quiclens_serve_unexpected_errors_total{route="/requests"}': "0x{c} 2x50"},
    "QuiclensWebBusy": {'quiclens_serve_responses_total{method="GET",route="/",status="503"}': "0x{b} 0+50x100"},
    "QuiclensTokensRefused": {'quiclens_serve_refused_requests_total{why="wrong token"}': "0x{c} 400x50"},
    "QuiclensRetentionFails": {"quiclens_serve_sweeps_failed_total": "0x{b} 3x100"},
}


def test_every_rule_is_about_metrics_that_there_are() -> None:
    known = set()
    source = (ROOT / "collectors" / "agent" / "src" / "run" / "metrics.rs").read_text(encoding="utf-8")
    known |= {f"quiclens_collector_{name}" for name in re.findall(r'"([a-z_]+)", "', source)}
    for path in (ROOT / "ingest/quiclens_ingest/metrics.py", ROOT / "api/web/quiclens_web/front/metrics.py"):
        text = path.read_text(encoding="utf-8")
        found = re.findall(r'(?:prefix \+ |counter\(\s*|gauge\(\s*)"([a-z_]+)"', text)
        program = "ingest" if "ingest" in path.name or "quiclens_ingest" in str(path) else "serve"
        known |= {f"quiclens_{program}_{name}" for name in found}
        known |= {name for name in re.findall(r'"(quiclens_serve_[a-z_]+)"', text)}
    for rule in rules():
        for name in set(re.findall(r"quiclens_(?:collector|ingest|serve)_[a-z_]+", rule["expr"])):
            stem = re.sub(r"_(total|bucket|info)$", "", name)
            assert stem in known, f"{rule['alert']}: {name}"


def test_every_alert_has_a_section_of_the_runbook_and_a_planted_fault() -> None:
    sections = re.findall(r"(?m)^### (\w+)$", RUNBOOK.read_text(encoding="utf-8"))
    assert sections == NAMES == list(FAULTS)
    assert all(rule["labels"]["severity"] in ("page", "ticket") for rule in rules())


@pytest.mark.skipif(not shutil.which("promtool"), reason="promtool is not installed (Debian: prometheus)")
def test_each_alert_speaks_of_its_fault_and_of_no_other(tmp_path: Path) -> None:
    tests = []
    for name, planted in {"": {}, **FAULTS}.items():
        began = 1500 if name in OF_A_DAY else BEGAN
        at = {"b": began, "b10": 10 * began, "b30": 30 * began, "b60": 60 * began, "c": began + 50, "late": began + 52,
              "e": began - 100, "n": began + 100}  # fmt: skip
        series = [{"series": each, "values": values.format(**at)} for each, values in {**WELL, **planted}.items()]
        asked = {
            "expr": 'count by (alertname) (ALERTS{alertstate="firing"}) > bool 0',
            "eval_time": f"{began + ASKED}m",
        }
        expected = [{"labels": f'{{alertname="{name}"}}', "value": 1}] if name else []
        tests.append({"name": name or "well", "interval": "1m", "input_series": series,
                      "promql_expr_test": [{**asked, "exp_samples": expected}]})  # fmt: skip
    file = tmp_path / "tests.yaml"
    file.write_text(yaml.safe_dump({"rule_files": [str(RULES)], "evaluation_interval": "1m", "tests": tests}))
    done = subprocess.run(["promtool", "test", "rules", str(file)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, (done.stdout + done.stderr)[-3000:]
