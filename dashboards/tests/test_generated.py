"""What is committed is what is generated, and reads as the house rules say."""

import re
from pathlib import Path

import pytest
import yaml
from quiclens_questions.causes import LOOKS
from reading import PAGES, Row, queries, variables

from quiclens_dashboards import ask, look, pages
from quiclens_dashboards.__main__ import FOLDER, different, generated, main

ROOT = Path(__file__).resolve().parents[2]
GRAFANA = ROOT / "deploy" / "grafana"
COMPOSE = yaml.safe_load((ROOT / "deploy" / "compose.yaml").read_text(encoding="utf-8"))
PANELS = [(name, panel) for name, page in PAGES.items() for panel in page["panels"]]


def test_the_committed_files_are_what_is_generated_and_generation_is_stable() -> None:
    assert generated() == generated()
    assert different(FOLDER) == [], "run python -m quiclens_dashboards"


def test_check_tells_what_differs_and_writing_mends_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--to", str(tmp_path)]) == 0
    assert main(["--check", "--to", str(tmp_path)]) == 0
    (tmp_path / "old.json").write_text("{}")
    (tmp_path / "pipeline.json").write_text("{}")
    assert main(["--check", "--to", str(tmp_path)]) == 1
    assert "old.json, pipeline.json" in capsys.readouterr().err
    assert main(["--to", str(tmp_path)]) == 0
    assert main(["--check", "--to", str(tmp_path)]) == 0


@pytest.mark.parametrize("name", PAGES)
def test_a_dashboard_opens_with_the_question_that_it_answers(name: str) -> None:
    page = PAGES[name]
    first = page["panels"][0]
    assert first["type"] == "text" and re.match(r"\*\*[A-Z][^*]+\?\*\* .*\.$", first["options"]["content"])
    assert page["uid"] == "quiclens-" + name.replace("_", "-")
    assert len({panel["id"] for panel in page["panels"]}) == len(page["panels"])


@pytest.mark.parametrize(("name", "panel"), PANELS, ids=[f"{name}: {panel['title']}" for name, panel in PANELS])
def test_a_panel_has_a_title_a_unit_a_description_and_the_data_source(name: str, panel: Row) -> None:
    if panel["type"] == "text":
        return
    assert panel["title"]
    assert panel["fieldConfig"]["defaults"]["unit"]
    assert panel["description"].endswith(".")
    assert panel["datasource"] == {"type": "grafana-clickhouse-datasource", "uid": "quiclens"}
    for override in panel["fieldConfig"]["overrides"]:
        assert override["properties"]


@pytest.mark.parametrize("name", PAGES)
def test_a_dashboard_says_how_many_requests_are_traced(name: str) -> None:
    """Causes and connections are known of traced requests only."""
    (coverage,) = [panel for panel in PAGES[name]["panels"] if panel["title"] == "Coverage" and panel["type"] == "stat"]
    assert "AS traced_share" in coverage["targets"][0]["rawSql"]
    for panel in PAGES[name]["panels"]:
        by_cause = "top_cause" in str(panel.get("targets")) or "cannot_show" in str(panel.get("targets"))
        assert not by_cause or re.search("AS (traced|measured)|    coverage", panel["targets"][0]["rawSql"])


def test_a_cause_has_its_one_colour_and_name() -> None:
    seen = set()
    for _, panel in PANELS:
        for override in panel.get("fieldConfig", {}).get("overrides", []):
            cause = override["matcher"]["options"].strip("/^()$")
            if cause in LOOKS:
                properties = {each["id"]: each["value"] for each in override["properties"]}
                assert properties["color"]["fixedColor"] == LOOKS[cause].on_dark
                assert properties["displayName"] == LOOKS[cause].name
                seen.add(cause)
    assert seen == set(LOOKS)


def test_a_colour_of_a_cause_means_nothing_else() -> None:
    of_causes = {each.on_dark for each in LOOKS.values()}
    others = [colour for name, colour in look.COLOURS.items() if name not in LOOKS]
    ramps = (look.COVERAGE, look.NONE_WANTED, look.SLOW, look.MISROUTED, look.PLAIN)
    others += [colour for steps in ramps for colour in steps.colours]
    assert of_causes.isdisjoint(others)


def test_every_query_has_a_first_comment_and_only_known_variables_and_no_limit_that_never_binds() -> None:
    for asked in queries():
        assert asked.sql.startswith("-- One row"), asked
        assert not re.search(r"LIMIT \d{5,}", asked.sql), asked
        assert set(re.findall(r"\$\{(\w+)", asked.sql)) <= set(asked.variables), asked
        conditions = re.findall(r"\$__conditionalAll\(.*?\$\{(\w+):(\w+)\}.*?, (\w+)\), (.*?)\)", asked.sql)
        assert len(conditions) == asked.sql.count("$__conditionalAll"), asked
        for chosen, form, column, variable in conditions:
            assert (form, column, variable) == ("queryparam", chosen, f"${chosen}"), asked
        assert "/*" not in asked.sql, asked


def test_links_lead_to_our_pages_of_the_request_and_the_connection_and_to_qvis() -> None:
    (slowest,) = [panel for _, panel in PANELS if panel["title"] == "Slowest requests"]
    urls = [
        link["url"]
        for override in slowest["fieldConfig"]["overrides"]
        for each in override["properties"]
        if each["id"] == "links"
        for link in each["value"]
    ]
    assert "${quiclens}/requests/${__data.fields.request_id:raw}" in urls
    assert "${quiclens}/connections/${__data.fields.connection_id:percentencode}" in urls
    assert any(url.startswith("${qvis}/#/sequence?file=") and url.endswith(".sqlog") for url in urls)
    for page in PAGES.values():
        assert {"quiclens", "qvis"} <= {each["name"] for each in variables(page)}


def test_every_dashboard_and_every_point_of_a_chart_leads_to_the_same_requests() -> None:
    wanted = look.same_requests(pages.CHOICES)
    for page in PAGES.values():
        assert wanted in [link.get("url") for link in page["links"]]
        assert set(pages.CHOICES) <= {each["name"] for each in variables(page)}
    for _, panel in PANELS:
        urls = [
            link["url"]
            for override in panel.get("fieldConfig", {}).get("overrides", [])
            if override["matcher"]["options"] == "/^(.*)$/"
            for each in override["properties"]
            for link in each["value"]
        ]
        assert urls == ([wanted] if panel["type"] in ("timeseries", "trend", "barchart") else []), panel["title"]


def test_grafana_is_given_every_dashboard_and_the_plugin_that_they_are_written_for() -> None:
    service = COMPOSE["services"]["grafana"]
    mounts = dict(each.rsplit(":", 2)[:2] for each in service["volumes"] if each.endswith(":ro"))
    (provider,) = yaml.safe_load((GRAFANA / "dashboards.yaml").read_text(encoding="utf-8"))["providers"]
    assert mounts["./grafana/dashboards.yaml"].startswith("/etc/grafana/provisioning/dashboards/")
    given = {
        source: target for source, target in mounts.items() if target.startswith(provider["options"]["path"] + "/")
    }
    assert {Path(source).name for source in given} == set(generated())
    for source, target in given.items():
        assert (ROOT / "deploy" / source).resolve() == FOLDER / Path(target).name
    assert service["environment"]["GF_PLUGINS_PREINSTALL"] == f"{ask.PLUGIN}@{ask.PLUGIN_VERSION}"
    (source,) = yaml.safe_load((GRAFANA / "datasource.yaml").read_text(encoding="utf-8"))["datasources"]
    assert (source["uid"], source["type"]) == (ask.SOURCE_UID, ask.PLUGIN)
