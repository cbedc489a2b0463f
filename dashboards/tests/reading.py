"""The committed dashboards as a reader of the JSON sees them: panels, queries, variables."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from expanding import ALL, Value

from quiclens_dashboards.__main__ import FOLDER

Row = dict[str, Any]

PAGES: Mapping[str, Row] = {
    file.stem: json.loads(file.read_text(encoding="utf-8")) for file in sorted(FOLDER.glob("*.json"))
}


@dataclass(frozen=True)
class PanelQuestion:
    """One query of a panel (`kind` is the panel's) or of a variable, and what the dashboard's variables are first."""

    page: str
    title: str
    kind: str
    format: int
    sql: str
    variables: Mapping[str, Value]

    def __str__(self) -> str:
        return f"{self.page}: {self.title}"


def variables(page: Row) -> list[Row]:
    found: list[Row] = page["templating"]["list"]
    return found


def queries() -> Iterator[PanelQuestion]:
    """Every query of every dashboard."""
    for name, page in PAGES.items():
        first = {each["name"]: each.get("current", {}).get("value", each["query"]) for each in variables(page)}
        for panel in page["panels"]:
            for target in panel.get("targets", []):
                yield PanelQuestion(name, panel["title"], panel["type"], target["format"], target["rawSql"], first)
        for variable in variables(page):
            if variable["type"] == "query":
                assert variable["current"]["value"] == ALL
                yield PanelQuestion(name, f"${variable['name']}", "variable", 1, variable["query"]["rawSql"], first)
