"""`report use-rate`: which share of requests goes over QUIC, and for whom none does, as Facebook watched it (2018)."""

from typing import Any

from quiclens_schema.store import Store

from quiclens_api.asking import ask
from quiclens_api.differences import Clusters, clustered_share
from quiclens_api.intervals import Spread, rounded
from quiclens_api.questions.asked import FEW_SAMPLES, GROUPS_AT_MOST, Asked, Report
from quiclens_api.questions.slow import coverage

Row = dict[str, Any]


def use_rate(store: Store, asked: Asked) -> Report:
    """One row per group (carrier where none is asked for): requests over QUIC among those whose protocol is known."""
    by = asked.by or ("carrier",)
    groups = ask(store, "use_rate", {**asked.window, "limit": GROUPS_AT_MOST}, asked.where, by).dicts()
    counted = coverage(store, asked.where, asked.window)
    counted["protocol_known"] = sum(int(group["requests"]) for group in groups)
    counted["groups_without_quic"] = sum(not group["over_quic"] for group in groups)
    shares = (("share" + end, "share") for end in ("", "_low", "_high"))
    columns = (("over_quic", ""), *shares, ("samples", ""), ("draws", ""), ("note", ""))
    return Report(
        name="use-rate",
        params=asked.params | {"by": list(by)},
        columns=(*((name, "") for name in by), *columns),
        rows=[[*group["by_values"], *_cells(group)] for group in groups],
        samples=int(counted["protocol_known"]),
        coverage=counted,
    )


def _cells(group: Row) -> list[Any]:
    requests, spread = int(group["requests"]), Spread(group["sum_aa"], group["sum_an"], group["sum_nn"])
    share = clustered_share(requests, Clusters(group["draws"], group["over_quic"], spread))
    cells = [int(group["over_quic"]), *rounded([share.value, share.low, share.high], 6), requests, group["draws"]]
    return [*cells, _note(requests, int(group["over_quic"]))]


def _note(requests: int, over_quic: int) -> str | None:
    if requests < FEW_SAMPLES:
        return f"too few requests ({requests})"
    return None if over_quic else "none over QUIC"
