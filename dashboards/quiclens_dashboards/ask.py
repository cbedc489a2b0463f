"""What Grafana asks the store: targets and variables of the plugin grafana-clickhouse-datasource, from `.sql` files.

A query is a file in queries/, which may hold others of them and what repeats for each cause; the plugin's macros
stay as they are, since only Grafana knows the window and the choices.
"""

import re
from functools import cache
from importlib import resources

from grafana_foundation_sdk.builders import dashboard as builders
from grafana_foundation_sdk.cog.builder import Builder
from grafana_foundation_sdk.cog.variants import Dataquery
from grafana_foundation_sdk.models import dashboard
from quiclens_ingest.scratch import sql as ingest_sql
from quiclens_questions.savings import REMOVABLE
from quiclens_questions.statements import unfilled
from quiclens_questions.watch import BY, alert_sql
from quiclens_schema.catalogue import CAUSES

PLUGIN = "grafana-clickhouse-datasource"
PLUGIN_VERSION = "4.20.0"
SOURCE_UID = "quiclens"

TIME_SERIES, TABLE = 0, 1  # sqlds FormatQueryOption
_QUERY_TYPES = {TIME_SERIES: "timeseries", TABLE: "table"}

_OTHER_FILE = re.compile(r"\(/\* ([a-z_/]+)\.sql \*/\)")
_EACH_CAUSE = re.compile(r"/\* each cause: (.*?) \*/")
_COMMENT = re.compile(r"(?m)^--.*\n")
_REMOVABLE = "/* removable causes */"
_DIMENSION = "/* dimension */"
DIMENSIONS = {
    "carrier": "Carrier",
    "region": "Region",
    "city": "City",
    "pop": "Point of presence",
    "network_type": "Network",
    "app_version": "App version",
}
"""Columns of which every dashboard lets values be chosen, with their labels."""
_EVERYTHING_CHOSEN = re.compile(r"(?m)^( *AND )\(/\* everything chosen \*/\)$")
_CHOSEN = re.compile(r"\(/\* chosen (\w+) \*/\)")
_WATCH = "(/* watch.sql */)"
_QUESTION = re.compile(r"/\* question (\w+), over (\w+) \*/")
_INCLUDED = re.compile(r"\(/\* (\w+\.sql) \*/\)")
_MEASURED = "(/* quiclens measured_request */)"


@cache
def sql(name: str) -> str:
    """The text of queries/<name>.sql with its marks filled in; the comments of the files that it holds stay behind."""
    text = (resources.files("quiclens_dashboards") / "queries" / f"{name}.sql").read_text(encoding="utf-8").strip()
    text = text.replace(_REMOVABLE, ", ".join(f"'{cause}'" for cause in REMOVABLE))
    text = _EACH_CAUSE.sub(lambda mark: ",\n    ".join(mark[1].format(cause=cause) for cause in CAUSES), text)
    if _WATCH in text:
        text = text.replace(_WATCH, f"(\n{_COMMENT.sub('', alert_sql(BY, '$__toTime'))}\n)")
    text = text.replace(_MEASURED, f"(\n{_COMMENT.sub('', ingest_sql('measured_request'))}\n)")
    text = _EVERYTHING_CHOSEN.sub(lambda mark: "\n".join(mark[1] + chosen(name) for name in DIMENSIONS), text)
    text = _CHOSEN.sub(lambda mark: chosen(mark[1]), text)
    text = _QUESTION.sub(lambda mark: _over(mark[2], unfilled(mark[1])), text)
    return _OTHER_FILE.sub(lambda mark: f"(\n{_COMMENT.sub('', sql(mark[1]))}\n)", text)


def chosen(column: str) -> str:
    """The condition that a column has one of the values that the variable of its name has, whatever they are: Grafana
    writes `${v:queryparam}` as `var-v=one&var-v=two`, every value percent-encoded, so that no quote, no backslash and
    no macro of a value is one in the statement. The plugin leaves the condition out where all are chosen."""
    texts = f"splitByChar('&', '${{{column}:queryparam}}')"
    values = f"arrayMap(each -> decodeURLComponent(substring(each, position(each, '=') + 1)), {texts})"
    return f"$__conditionalAll(has({values}, {column}), ${column})"


def _over(folder: str, question: str) -> str:
    """The SQL of a question, over what the folder has by the names of what the question is over."""
    return _INCLUDED.sub(lambda mark: f"(/* {folder}/{mark[1]} */)", _COMMENT.sub("", question))


def source() -> dashboard.DataSourceRef:
    """The data source of deploy/grafana/datasource.yaml."""
    return dashboard.DataSourceRef(type_val=PLUGIN, uid=SOURCE_UID)


class PanelQuery(Builder[Dataquery], Dataquery):
    """One query of a panel. `shape` TIME_SERIES wants a time first, in order; text columns become labels."""

    def __init__(self, name: str, shape: int) -> None:
        self._name, self._shape = name, shape

    def build(self) -> Dataquery:
        return self

    def to_json(self) -> dict[str, object]:
        return {
            "refId": "A",
            "datasource": source(),
            "pluginVersion": PLUGIN_VERSION,
            "editorType": "sql",
            "queryType": _QUERY_TYPES[self._shape],
            "format": self._shape,
            "rawSql": sql(self._name),
        }


def dimension(name: str, label: str) -> builders.QueryVariable:
    """A choice of values of a column of `requests`, all of them until somebody chooses."""
    text = sql("dimension").replace(_DIMENSION, name)
    return (
        builders.QueryVariable(name)
        .label(label)
        .description(f"Values of {name} in the last week of the window, the most frequent first; others can be typed.")
        .datasource(source())
        .query({"refId": name, "queryType": "sql", "rawSql": text})
        .refresh(dashboard.VariableRefresh.ON_TIME_RANGE_CHANGED)
        .multi(True)
        .include_all(True)
        .allow_custom_value(True)
        .current(dashboard.VariableOption(selected=True, text=["All"], value=["$__all"]))
    )


def choice(name: str, label: str, description: str, options: dict[str, str], first: str) -> builders.CustomVariable:
    """One of a few values by their names; it stands in the SQL as it is, so that it can be a column or a number."""
    listed = [
        dashboard.VariableOption(selected=text == first, text=text, value=value) for text, value in options.items()
    ]
    return (
        builders.CustomVariable(name)
        .label(label)
        .description(description)
        .values(", ".join(f"{text} : {value}" for text, value in options.items()))
        .options(listed)
        .current(next(option for option in listed if option.selected))
        .allow_custom_value(False)
    )
