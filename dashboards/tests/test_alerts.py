"""Alert rules: their queries give one number, they fire when they should, and the runbook has a section for each."""

import json
import re
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from demo_store import BEAT_AFTER, QUIET_DAYS_BEFORE, Demo
from expanding import Window, expand
from test_generated import COMPOSE, ROOT
from test_queries import day_before

from quiclens_dashboards.__main__ import ALERTS, FOLDER
from quiclens_dashboards.alerts import RULES

GROUPS = json.loads((FOLDER / ALERTS).read_text(encoding="utf-8"))["groups"]
BY_NAME = {rule["uid"].removeprefix("quiclens-").replace("-", "_"): rule for group in GROUPS for rule in group["rules"]}
RUNBOOK = (FOLDER.parent / "RUNBOOK.md").read_text(encoding="utf-8")


def number(demo: Demo, name: str, at: datetime) -> float | None:
    """What the rule compares when it is evaluated at that time, None where there is no data."""
    query = BY_NAME[name]["data"][0]
    window = query["relativeTimeRange"]
    since, until = (at - timedelta(seconds=window[end]) for end in ("from", "to"))
    return asked(demo, name, Window(since, until))


def asked(demo: Demo, name: str, window: Window) -> float | None:
    sql = expand(BY_NAME[name]["data"][0]["model"]["rawSql"], {}, window)
    assert "$" not in sql and "/*" not in sql
    result = demo.store.query(sql)
    if not result.rows:
        return None
    ((value,),) = result.rows
    assert re.search("Int|Float", result.types[0])
    return float(value)


def fires(name: str, value: float | None) -> bool:
    """What Grafana makes of the number."""
    if value is None:
        return bool(BY_NAME[name]["noDataState"] == "Alerting")
    (condition,) = BY_NAME[name]["data"][1]["model"]["conditions"]
    (threshold,) = condition["evaluator"]["params"]
    return bool(value > threshold if condition["evaluator"]["type"] == "gt" else value < threshold)


def quiet(demo: Demo) -> datetime:
    """A time before the demo's days, at which little was planted and all of it is bad."""
    return demo.window.since - timedelta(days=QUIET_DAYS_BEFORE)


OF_CONNECTIONS = ("handshakes_fail", "closes_with_errors", "early_data_refused")

HEALTHY: dict[str, Callable[[Demo], datetime]] = {
    "regressions": lambda demo: demo.window.until,
    "pipeline_stale": lambda demo: demo.window.since + BEAT_AFTER + timedelta(seconds=60),
    "reject_rate": lambda demo: demo.window.since + BEAT_AFTER - timedelta(seconds=1),
    "coverage_low": lambda demo: demo.window.until + timedelta(minutes=10),
    **dict.fromkeys(OF_CONNECTIONS, lambda demo: quiet(demo) - timedelta(days=1)),
}
FAILING: dict[str, Callable[[Demo], datetime]] = {
    "regressions": quiet,
    "pipeline_stale": lambda demo: demo.window.until,
    "reject_rate": quiet,
    "coverage_low": quiet,
    **dict.fromkeys(OF_CONNECTIONS, quiet),
}


@pytest.mark.parametrize("name", HEALTHY)
def test_a_rule_is_silent_while_all_is_well(demo: Demo, name: str) -> None:
    value = number(demo, name, HEALTHY[name](demo))
    assert value is not None and not fires(name, value), value


@pytest.mark.parametrize("name", FAILING)
def test_a_rule_fires_when_it_should(demo: Demo, name: str) -> None:
    value = number(demo, name, FAILING[name](demo))
    assert value is not None and fires(name, value), value


def test_the_audits_rule_fires_for_the_day_that_lacks_events_alone(demo: Demo) -> None:
    assert not fires("audit_gap", asked(demo, "audit_gap", demo.window))
    assert fires("audit_gap", asked(demo, "audit_gap", day_before(demo)))


def test_the_rules_of_hosts_have_the_shares_that_were_planted(demo: Demo) -> None:
    misroute, restarts = demo.truth["misroute"], demo.truth["restart"]["restarts"]
    ((received,),) = demo.store.query(
        "SELECT sum(ifNull(count, 1)) FROM events FINAL WHERE name = 'quic:udp_datagrams_received'"
        f" AND connection_id LIKE 'host:%' AND trace_day = toDate('{demo.operations.since:%Y-%m-%d}')"
    ).rows
    astray = sum(each["packets"] for each in misroute["wrong_host"])
    assert asked(demo, "misrouted", demo.operations) == pytest.approx(astray / received)
    dropped, forwarded = (sum(each[what] for each in restarts) for what in ("dropped", "forwarded"))
    assert asked(demo, "lost_at_restarts", demo.operations) == pytest.approx(dropped / (dropped + forwarded))


def test_a_rule_of_connections_says_nothing_where_few_connections_are_new(demo: Demo) -> None:
    at = quiet(demo) - timedelta(days=1)
    assert asked(demo, "handshakes_fail", Window(at - timedelta(hours=3), at - timedelta(minutes=16))) is None


def test_without_data_only_the_heartbeats_rule_fires(demo: Demo) -> None:
    empty = demo.window.since - timedelta(days=1_000)
    assert {name for name in BY_NAME if fires(name, number(demo, name, empty))} == {"pipeline_stale"}


def test_the_tail_rule_is_asked_once_a_window_and_wants_two() -> None:
    (group,) = [group for group in GROUPS if BY_NAME["regressions"] in group["rules"]]
    assert (group["interval"], BY_NAME["regressions"]["for"]) == ("5m", "5m")
    assert len({group["name"] for group in GROUPS}) == len(GROUPS)


def test_the_tail_rule_asks_what_the_command_asks() -> None:
    sql = BY_NAME["regressions"]["data"][0]["model"]["rawSql"]
    assert "lgamma" in sql and "toTimeZone($__toTime, 'UTC')" in sql and "{" not in sql


@pytest.mark.parametrize("name", BY_NAME)
def test_a_rule_is_as_provisioning_wants_it(name: str) -> None:
    rule = BY_NAME[name]
    assert len(rule["uid"]) <= 40 and rule["condition"] == "B" and rule["annotations"]["summary"].endswith(".")
    query, comparison = rule["data"]
    assert query["datasourceUid"] == "quiclens" and comparison["model"]["expression"] == query["refId"]
    assert query["relativeTimeRange"]["from"] > query["relativeTimeRange"]["to"] >= 0
    sql = query["model"]["rawSql"]
    assert sql.startswith("-- One row") and not re.search(r"LIMIT \d{5,}", sql)
    assert set(re.findall(r"\$\w+", sql)) <= {"$__toTime", "$__fromTime", "$__timeFilter"}  # rules have no variables
    # Grafana fills in its own environment here; anything else with a dollar would be lost.
    for text in rule["annotations"].values():
        assert re.sub(r"^\$\{QUICLENS_RUNBOOK\}", "", text).count("$") == 0


def test_the_runbook_has_a_section_for_each_rule_that_says_what_to_do() -> None:
    sections = dict(re.findall(r"(?ms)^## ([^\n]+)\n(.*?)(?=^## |\Z)", RUNBOOK))
    assert set(sections) == {rule.title for rule in RULES}
    for rule in RULES:
        assert BY_NAME[rule.name]["annotations"]["runbook_url"] == f"${{QUICLENS_RUNBOOK}}#{rule.section}"
        for part in ("**What it means.**", "**What to look at.**", "**What to do.**"):
            assert part in sections[rule.title]


def test_grafana_is_given_the_rules_and_knows_where_the_runbook_is() -> None:
    service: dict[str, Any] = COMPOSE["services"]["grafana"]
    mounts = dict(each.rsplit(":", 2)[:2] for each in service["volumes"] if each.endswith(":ro"))
    (source,) = [source for source, target in mounts.items() if "/provisioning/alerting/" in target]
    assert (ROOT / "deploy" / source).resolve() == (Path(FOLDER) / ALERTS).resolve()
    assert "QUICLENS_RUNBOOK" in service["environment"]
