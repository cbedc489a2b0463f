"""`report use-rate`: which share of requests goes over QUIC, and for whom none does, as Facebook watched it (2018)."""

from typing import Any

from quiclens_schema.store import Store

from quiclens_questions.clustered import Shared, shares
from quiclens_questions.report import FEW_SAMPLES, GROUPS_AT_MOST, Report, ReportQuestion
from quiclens_questions.slow import report_coverage


def use_rate(store: Store, asked: ReportQuestion) -> Report:
    """One row per group (carrier where none is asked for): requests over QUIC among those whose protocol is known."""
    by = asked.by or ("carrier",)
    groups = shares(store, "use_rate", asked, by, asked.window)
    counted = report_coverage(store, asked.where, asked.window)
    counted["protocol_known"] = groups.samples
    counted["groups_without_quic"] = sum(not group.hits for group in groups.by_key.values())
    ends = (("share" + end, "share") for end in ("", "_low", "_high"))
    columns = (("over_quic", ""), *ends, ("samples", ""), ("clusters", ""), ("note", ""))
    return Report(
        name="use-rate",
        params=asked.params | {"by": list(by)},
        columns=(*((name, "") for name in by), *columns),
        rows=[[*key, *_cells(group)] for key, group in list(groups.by_key.items())[:GROUPS_AT_MOST]],
        samples=int(counted["protocol_known"]),
        coverage=counted,
        groups=groups.all,
        groups_shown=min(groups.all, GROUPS_AT_MOST),
    )


def _cells(group: Shared) -> list[Any]:
    cells = [group.hits, *group.share.rounded(6), group.samples, group.clusters]
    return [*cells, _note(group.samples, group.hits)]


def _note(requests: int, over_quic: int) -> str | None:
    if requests < FEW_SAMPLES:
        return f"too few requests ({requests})"
    return None if over_quic else "none over QUIC"
