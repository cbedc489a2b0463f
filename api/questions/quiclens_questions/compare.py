"""`report compare`: the arms of an experiment, as Facebook compared QUIC with TCP (2018), biases cut out by strata.

Latency is that of requests which succeeded, which selects; so the share that failed stands beside it. Arms are those
that were assigned: who compares by the transport that won a race (`--between protocol`) compares networks. How far
networks differ is seen by the round trips beside, a trace's or, of TCP, those that the server logged. Beside all
requests of an arm stand how much of them went over QUIC, and how its users' number fits what was planned.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from quiclens_schema.store import Store

from quiclens_questions.clustered import Key, Sampled, Shared, sampled, shares
from quiclens_questions.failure import usage
from quiclens_questions.report import Report, ReportQuestion
from quiclens_questions.slow import report_coverage
from quiclens_questions.split import ArmUsers, Planned, warnings
from quiclens_questions.statements import ask
from quiclens_questions.statistics.estimates import Estimate, difference, relative, rounded

COMPARED = (("p50", 0.5), ("p75", 0.75), ("p90", 0.9), ("p95", 0.95), ("p99", 0.99))
PATHS = (("rtt_p50", 0.5),)
OVER_QUIC = ("use_rate", "sessions_all_quic", "sessions_mixed", "sessions_without_quic")
USERS = "users"
ALL = "all"
STRATA = (
    ALL,
    "responses_below_4_kib",
    "reused_connections",
    "later_requests",
    "rtt_below_500_ms",
    "later_and_rtt_below_500_ms",
)
_COLUMNS = (
    ("stratum", ""),
    ("arm", ""),
    ("base", ""),
    ("figure", ""),
    ("unit", ""),
    ("value", ""),
    ("base_value", ""),
    ("difference", ""),
    ("difference_low", ""),
    ("difference_high", ""),
    ("samples", ""),
    ("base_samples", ""),
    ("clusters", ""),
    ("base_clusters", ""),
)

Place = tuple[tuple[str | None, ...], str]  # a group, a stratum
Arms = dict[str, Shared]
Measured = tuple[tuple[tuple[str, float], ...], Mapping[Key, Sampled]]  # quantiles by name, and the samples of each arm
Users = dict[Key, dict[str, ArmUsers]]  # of each group, by arm


def compare(store: Store, asked: ReportQuestion) -> Report:
    """One row per group, stratum, arm and figure, against the base arm: the one named, or the one with most requests.

    Quantiles differ by a share of the base's, shares by points; users by a share of what was planned.
    """
    by = (*asked.by, asked.between)
    parameters = {**asked.window, "later": asked.later}
    found = shares(store, "compared_failures", asked, by, parameters).by_key
    base = _base(found, asked.base, asked.between)
    measured = [
        (
            names,
            sampled(store, samples, asked, by, [quantile for _, quantile in names], parameters).by_key if found else {},
        )
        for names, samples in ((COMPARED, "compared_durations"), (PATHS, "compared_rtts"))
    ]
    over_quic = _over_quic(store, asked, by) if found and asked.between != "protocol" else {}
    users = _users(store, asked, by) if found and (asked.between == "arm" or asked.split.shares) else {}
    counted = report_coverage(store, asked.where, asked.window)
    counted["in_an_arm"] = sum(each.samples for key, each in found.items() if key[-2] == ALL)
    rows: list[list[Any]] = []
    for place, arms in _places(found).items():
        rows += _rows(place, arms, base, measured)
        if place[1] == ALL and base in arms:
            for arm in sorted(set(arms) - {base}):
                rows += _rows_of_all(place[0], arm, str(base), over_quic, users, asked.split)
    return Report(
        name="compare",
        params=asked.params
        | {"between": asked.between, "base": base, "later": asked.later, "split": dict(asked.split.shares)},
        columns=(*asked.by_columns, *_COLUMNS),
        rows=rows,
        samples=int(counted["in_an_arm"]),
        coverage=counted,
        warnings=warnings(users, asked.split),
    )


def _over_quic(store: Store, asked: ReportQuestion, by: Sequence[str]) -> dict[Key, Shared]:
    """By group, arm and figure of `OVER_QUIC`."""
    rates = shares(store, "use_rate", asked, by, asked.window).by_key
    return {(*key, OVER_QUIC[0]): each for key, each in rates.items()} | dict(
        shares(store, "session_protocols", asked, by, asked.window).by_key
    )


def _users(store: Store, asked: ReportQuestion, by: Sequence[str]) -> Users:
    found: Users = {}
    for row in ask(store, "arm_users", asked.window, asked.where, by).dicts():
        *group, arm = row["key"]
        found.setdefault(tuple(group), {})[str(arm)] = ArmUsers(int(row["users"]), row["parts"], row["crossed"])
    return found


def _base(found: Mapping[Key, Shared], wanted: str, between: str) -> str | None:
    sizes: dict[str, int] = {}
    for (*_, stratum, arm), each in found.items():
        if stratum == "all":
            sizes[str(arm)] = sizes.get(str(arm), 0) + each.samples
    if wanted and found and wanted not in sizes:
        raise usage(f"no request has {between} {wanted!r}", f"{between} is one of {', '.join(sorted(sizes))}")
    return wanted or max(sizes, key=lambda arm: (sizes[arm], arm), default=None)


def _places(found: Mapping[Key, Shared]) -> dict[Place, Arms]:
    """Arms by group and stratum: groups with most requests first, strata in the order in which they cut."""
    groups = dict.fromkeys(key[:-2] for key in found)
    places: dict[Place, Arms] = {(group, stratum): {} for group in groups for stratum in STRATA}
    for (*group, stratum, arm), each in found.items():
        places[tuple(group), str(stratum)][str(arm)] = each
    return places


def _rows(place: Place, arms: Arms, base: str | None, measured: Sequence[Measured]) -> Iterator[list[Any]]:
    group, stratum = place
    if base not in arms:
        return
    for arm in sorted(set(arms) - {base}):
        for names, found in measured:
            most, least = (found.get((*group, stratum, each)) for each in (arm, base))
            sizes = [each.samples if each else 0 for each in (most, least)]
            clusters = [each.clusters if each else 0 for each in (most, least)]
            for index, (name, _) in enumerate(names):
                of, to = (each.quantiles[index] if each else Estimate(None) for each in (most, least))
                cells = [*rounded([of.value, to.value]), *relative(of, to).rounded(6)]
                yield [*group, stratum, arm, base, name, "us", *cells, *sizes, *clusters]
        yield [*group, stratum, arm, base, "failed", "share", *_points(arms[arm], arms[base])]


def _rows_of_all(
    group: Key, arm: str, base: str, over_quic: Mapping[Key, Shared], users: Users, planned: Planned
) -> Iterator[list[Any]]:
    """What is told of all requests of an arm alone."""
    for figure in OVER_QUIC:
        of, to = (over_quic.get((*group, each, figure)) for each in (arm, base))
        if of and to:
            yield [*group, ALL, arm, base, figure, "share", *_points(of, to)]
    arms = users.get(group, {})
    if arm in arms and base in arms:
        counts = [arms[each].users for each in (arm, base)]
        cells = planned.excess(arm, base, arms).rounded(6)
        yield [*group, ALL, arm, base, USERS, "", *counts, *cells, *counts, *counts]


def _points(of: Shared, to: Shared) -> list[Any]:
    cells = [*rounded([of.share.value, to.share.value], 6), *difference(of.share, to.share).rounded(6)]
    return [*cells, of.samples, to.samples, of.clusters, to.clusters]
