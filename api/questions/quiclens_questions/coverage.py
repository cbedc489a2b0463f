"""`report coverage`: how much of what people do goes over QUIC, session by session, as Uber published it (2019)."""

from typing import Any

from quiclens_schema.store import Store

from quiclens_questions.clustered import NOTHING_SHARED, Shared, shares
from quiclens_questions.report import GROUPS_AT_MOST, Report, ReportQuestion
from quiclens_questions.slow import report_coverage
from quiclens_questions.statements import ask

_KINDS = ("sessions_all_quic", "sessions_mixed", "sessions_without_quic")
_OF_MIXED = ("mixed_began_over_tcp", "mixed_fell_back", "mixed_back_and_forth", "left_quic_after_failure")
"""Why a session is mixed, as far as its requests tell: shares of mixed sessions, the last of those that left QUIC for
TCP at some time."""


def coverage(store: Store, asked: ReportQuestion) -> Report:
    """Shares for each group, of sessions: a user's requests with less than half an hour between two.

    Requests whose user or time nobody logged have no session, and are counted in the coverage as such.
    """
    found = shares(store, "session_protocols", asked, asked.by, asked.window).by_key
    counted = report_coverage(store, asked.where, asked.window)
    in_sessions = ask(store, "requests_in_a_session", asked.window, asked.where, asked.by).one()
    counted["in_sessions"] = int(in_sessions[0])
    groups = list(dict.fromkeys(key[:-1] for key in found))
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
        rows=[
            [*group, *_cells(kind, found.get((*group, kind), NOTHING_SHARED))]
            for group in groups[:GROUPS_AT_MOST]
            for kind in (*_KINDS, *_OF_MIXED)
        ],
        samples=sum(found[(*group, _KINDS[0])].samples for group in groups),
        coverage=counted,
        groups=len(groups),
        groups_shown=min(len(groups), GROUPS_AT_MOST),
    )


def _cells(kind: str, found: Shared) -> list[Any]:
    return [kind, *found.share.rounded(6), found.samples, found.clusters]
