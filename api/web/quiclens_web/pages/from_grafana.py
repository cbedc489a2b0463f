"""From a dashboard of Grafana to the page with the same requests: the same stretch of time, the same choices."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from urllib.parse import urlencode

from quiclens_questions.failure import usage
from quiclens_questions.moment import LAST, rfc3339

_TO_ALL = "$__all"
"""What Grafana gives for a choice that is all of its values."""
TRUST: Mapping[str, str | None] = {
    "1": None,
    "grade != 'damaged'": "grade!=damaged",
    "grade = 'whole'": "grade=whole",
}
"""The conditions of the dashboards' choice `trust`, and ours."""
_LATEST_MS = int(LAST.timestamp() * 1000)


def page_of(from_ms: int, to_ms: int, choices: Mapping[str, Sequence[str]], trust: str) -> str:
    """The overview's address; times are ms since 1970, `choices` values by column. UsageMistake for what no
    dashboard of ours asks."""
    if not 0 <= from_ms < to_ms <= _LATEST_MS:
        raise usage("from and to are no stretch of time", "milliseconds since 1970, as Grafana's ${__from} and ${__to}")
    if trust not in TRUST:
        raise usage(f"var-trust is none of {', '.join(TRUST)}", "links of the dashboards have it")
    conditions = [
        " OR ".join(f"{column}={value}" for value in values)
        for column, values in choices.items()
        if values and _TO_ALL not in values
    ]
    since, until = (rfc3339(datetime.fromtimestamp(ms / 1000, UTC)) for ms in (from_ms, to_ms))
    where = [*conditions, *filter(None, [TRUST[trust]])]
    return "/?" + urlencode([("since", since), ("until", until), *(("where", each) for each in where)])
