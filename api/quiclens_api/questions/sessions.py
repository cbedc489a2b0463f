"""`report coverage`: how much of what people do goes over QUIC, session by session, as Uber published it (2019)."""

from typing import Any

from quiclens_schema.store import Store

from quiclens_api.asking import ask
from quiclens_api.differences import Clusters, clustered_share
from quiclens_api.intervals import Spread, rounded
from quiclens_api.questions.asked import GROUPS_AT_MOST, Asked, Report
from quiclens_api.questions.slow import coverage

_KINDS = ("sessions_all_quic", "sessions_mixed", "sessions_without_quic")

Row = dict[str, Any]


def sessions(store: Store, asked: Asked) -> Report:
    """Three shares for each group, of sessions: a user's requests with less than half an hour between two.

    Requests whose user or time nobody logged have no session, and are counted in the coverage as such.
    """
    parameters = {**asked.window, "limit": GROUPS_AT_MOST}
    groups = ask(store, "session_protocols", parameters, asked.where, asked.by).dicts()
    counted = coverage(store, asked.where, asked.window)
    counted["in_sessions"] = sum(group["requests"] for group in groups)
    columns = (
        ("figure", ""),
        *(("share" + end, "share") for end in ("", "_low", "_high")),
        ("samples", ""),
        ("users", ""),
    )
    return Report(
        name="coverage",
        params=asked.params,
        columns=(*asked.by_columns, *columns),
        rows=[[*group["by_values"], *_cells(group, kind)] for group in groups for kind in range(len(_KINDS))],
        samples=sum(int(group["sessions"]) for group in groups),
        coverage=counted,
    )


def _cells(group: Row, kind: int) -> list[Any]:
    count = int(group["sessions"])
    spread = Spread(group["sum_aa"][kind], group["sum_an"][kind], group["sum_nn"])
    share = clustered_share(count, Clusters(group["users"], group["sum_a"][kind], spread))
    return [_KINDS[kind], *rounded([share.value, share.low, share.high], 6), count, group["users"]]
