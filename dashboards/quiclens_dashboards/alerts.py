"""Alert rules, as Grafana's file provisioning reads them: each asks for one number and compares it with another.

Ad-hoc filters and dashboards' variables do not exist in rules: conditions on them are left out of their queries.
Grafana leaves `$__…` of a query alone and fills in `${…}` of annotations from its own environment (grafana,
services/provisioning/alerting).
"""

import json
import re
from dataclasses import dataclass
from typing import Any, Literal

from quiclens_dashboards.ask import PLUGIN_VERSION, SOURCE_UID, TABLE, source, sql

RUNBOOK = "${QUICLENS_RUNBOOK}"  # where dashboards/RUNBOOK.md can be read
_MINUTE, _HOUR = 60, 3_600
_CHOICE = re.compile(r"(?m)^ *AND \$__conditionalAll\(.*\)\n")

Json = dict[str, Any]


@dataclass(frozen=True)
class Rule:
    """One rule: it fires when its number stays above (`gt`) or below the threshold for as long as it `holds`.

    It is asked `every` so often; `window` are seconds before that, from and to; `no_data` is what no number means.
    """

    name: str
    title: str
    summary: str
    description: str
    when: Literal["gt", "lt"]
    threshold: float
    window: tuple[int, int]
    holds: str
    severity: Literal["page", "ticket"]
    no_data: Literal["Alerting", "OK"] = "OK"
    every: Literal["1m", "5m"] = "1m"

    @property
    def section(self) -> str:
        """Of the runbook."""
        return self.title.lower().replace(" ", "-")


def _worse_connections(name: str, title: str, severity: Literal["page", "ticket"], summary: str) -> Rule:
    """One of `worse_connections.sql`: a share of connections has grown for two windows of ten minutes.

    Where nothing has changed and connections are independent, fewer than one window in 30,000 is as far out.
    """
    return Rule(
        name=name,
        title=title,
        summary=summary,
        description="Their share in ten minutes is more than four standard errors above, and 1.5 times as large.",
        when="gt",
        threshold=4,
        window=(3 * _HOUR + 15 * _MINUTE, 5 * _MINUTE),  # those that begin later may be in their handshake
        holds="5m",
        severity=severity,
        every="5m",
    )


RULES = (
    Rule(
        name="regressions",
        title="Regressions",
        summary="Requests of some carriers, regions or cities have become slower, fail more, or go over QUIC less.",
        description="Found in two windows of five minutes after each other; `quiclens triage` says who it is.",
        when="gt",
        threshold=0,
        window=(5 * _MINUTE, 0),
        holds="5m",
        severity="page",
        every="5m",
    ),
    Rule(
        name="pipeline_stale",
        title="Pipeline stale",
        summary="Nothing new of a collector can be queried.",
        description="Its last heartbeat that arrived was made two minutes ago; one is made every ten seconds.",
        when="gt",
        threshold=120,
        window=(5 * _MINUTE, 0),
        holds="2m",
        severity="page",
        no_data="Alerting",
    ),
    Rule(
        name="audit_gap",
        title="Audit gap",
        summary="Events that should be stored are missing, or stand twice.",
        description="In a sample of 200 traces that began between three hours and a quarter of an hour ago.",
        when="gt",
        threshold=0,
        window=(3 * _HOUR, 15 * _MINUTE),
        holds="10m",
        severity="ticket",
    ),
    Rule(
        name="reject_rate",
        title="Reject rate",
        summary="More than one in a thousand of what arrives cannot become a row.",
        description="Of the last hour; the table rejects has the bytes and the reason of each.",
        when="gt",
        threshold=0.001,
        window=(_HOUR, 0),
        holds="10m",
        severity="ticket",
    ),
    Rule(
        name="coverage_low",
        title="Coverage low",
        summary="Fewer than half of the requests have a trace, so that causes speak of a minority.",
        description="Of the last hour but the last ten minutes, whose traces may still be on their way.",
        when="lt",
        threshold=0.5,
        window=(_HOUR, 10 * _MINUTE),
        holds="15m",
        severity="ticket",
    ),
    _worse_connections(
        "handshakes_fail",
        "Handshakes fail",
        "page",
        "More connections than in the three hours before do not complete their handshake.",
    ),
    _worse_connections(
        "closes_with_errors",
        "Closes with errors",
        "page",
        "More connections than in the three hours before end with an error or a stateless reset.",
    ),
    _worse_connections(
        "early_data_refused", "Early data refused", "ticket", "More 0-RTT than in the three hours before is rejected."
    ),
    Rule(
        name="misrouted",
        title="Misrouted packets",
        summary="More than one in a thousand packets that hosts receive are of another host's connections.",
        description="Of the last ten minutes, as hosts log it; the dashboard Edge operations says which hosts.",
        when="gt",
        threshold=0.001,
        window=(10 * _MINUTE, 0),
        holds="5m",
        severity="ticket",
    ),
    Rule(
        name="lost_at_restarts",
        title="Packets lost at restarts",
        summary="More than one in a hundred packets that came for a process before a restart were not forwarded.",
        description="Of the last ten minutes, as hosts log it; the dashboard Edge operations lists the restarts.",
        when="gt",
        threshold=0.01,
        window=(10 * _MINUTE, 0),
        holds="0s",
        severity="ticket",
    ),
)


def text() -> str:
    """The file; the same bytes each time."""
    groups = [_group(every) for every in dict.fromkeys(rule.every for rule in RULES)]
    return json.dumps({"apiVersion": 1, "groups": groups}, indent=2, ensure_ascii=False) + "\n"


def _group(every: str) -> Json:
    """The rules that are asked so often, one after the other."""
    named = {"orgId": 1, "name": f"quiclens, every {every}", "folder": "quiclens", "interval": every}
    return {**named, "rules": [_rule(rule) for rule in RULES if rule.every == every]}


def _rule(rule: Rule) -> Json:
    return {
        "uid": "quiclens-" + rule.name.replace("_", "-"),
        "title": rule.title,
        "condition": "B",
        "data": [_number(rule), _comparison(rule)],
        "for": rule.holds,
        "noDataState": rule.no_data,
        "execErrState": "Error",
        "labels": {"service": "quiclens", "severity": rule.severity},
        "annotations": {
            "summary": rule.summary,
            "description": rule.description,
            "runbook_url": f"{RUNBOOK}#{rule.section}",
        },
    }


def _number(rule: Rule) -> Json:
    asked = source()
    model = {
        "refId": "A",
        "datasource": {"type": asked.type_val, "uid": asked.uid},
        "pluginVersion": PLUGIN_VERSION,
        "editorType": "sql",
        "queryType": "table",
        "format": TABLE,
        "rawSql": _CHOICE.sub("", sql(f"alerts/{rule.name}")),
    }
    return {"refId": "A", "relativeTimeRange": _range(rule), "datasourceUid": SOURCE_UID, "model": model}


def _comparison(rule: Rule) -> Json:
    expression = {"type": "__expr__", "uid": "__expr__"}
    model = {
        "refId": "B",
        "datasource": expression,
        "type": "threshold",
        "expression": "A",
        "conditions": [{"evaluator": {"type": rule.when, "params": [rule.threshold]}}],
    }
    return {"refId": "B", "relativeTimeRange": _range(rule), "datasourceUid": "__expr__", "model": model}


def _range(rule: Rule) -> Json:
    return {"from": rule.window[0], "to": rule.window[1]}
