"""`report compare`: the arms of an experiment, as Facebook compared QUIC with TCP (2018), biases cut out by strata.

Latency is that of requests which succeeded, which selects; so the share that failed stands beside it. Arms are those
that were assigned: who compares by the transport that won a race (`--between protocol`) compares networks. How far
networks differ is seen by the round trips beside, a trace's or, of TCP, those that the server logged.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from quiclens_schema.store import Store

from quiclens_api.asking import ask
from quiclens_api.differences import Clusters, clustered_share, difference, relative
from quiclens_api.failure import usage
from quiclens_api.intervals import Estimate, Spread, rounded
from quiclens_api.questions.asked import Asked, Report
from quiclens_api.questions.clustered import SAMPLES_GROUPS_AT_MOST, Key, Sampled, sampled
from quiclens_api.questions.slow import coverage

COMPARED = (("p75", 0.75), ("p90", 0.9), ("p99", 0.99))
PATHS = (("rtt_p50", 0.5),)
STRATA = (
    "all",
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
    ("draws", ""),
    ("base_draws", ""),
)

Row = dict[str, Any]
Place = tuple[tuple[str | None, ...], str]  # a group, a stratum
Arms = dict[str, Row]
Measured = tuple[tuple[tuple[str, float], ...], dict[Key, Sampled]]  # quantiles by name, and the samples of each arm


def compare(store: Store, asked: Asked) -> Report:
    """One row per group, stratum, arm and figure, against the base arm: the one named, or the one with most requests.

    Quantiles differ by a share of the base's, failures by points.
    """
    by = (*asked.by, asked.between)
    parameters = {**asked.window, "later": asked.later}
    found = ask(store, "compared_groups", {**parameters, "limit": SAMPLES_GROUPS_AT_MOST}, asked.where, by).dicts()
    base = _base(found, asked.base, asked.between)
    measured = [
        (names, sampled(store, samples, asked, by, [quantile for _, quantile in names], parameters) if found else {})
        for names, samples in ((COMPARED, "compared_durations"), (PATHS, "compared_rtts"))
    ]
    counted = coverage(store, asked.where, asked.window)
    everything = [row for row in found if row["stratum"] == "all"]
    counted["in_an_arm"] = sum(row["requests"] for row in everything)
    return Report(
        name="compare",
        params=asked.params | {"between": asked.between, "base": base, "later": asked.later},
        columns=(*asked.by_columns, *_COLUMNS),
        rows=[row for place, arms in _places(found).items() for row in _rows(place, arms, base, measured)],
        samples=int(counted["in_an_arm"]),
        coverage=counted,
    )


def _base(found: Sequence[Row], wanted: str, between: str) -> str | None:
    sizes: dict[str, int] = {}
    for row in found:
        if row["stratum"] == "all":
            sizes[row["arm"]] = sizes.get(row["arm"], 0) + row["requests"]
    if wanted and found and wanted not in sizes:
        raise usage(f"no request has {between} {wanted!r}", f"{between} is one of {', '.join(sorted(sizes))}")
    return wanted or max(sizes, key=lambda arm: (sizes[arm], arm), default=None)


def _places(found: Sequence[Row]) -> dict[Place, Arms]:
    """Arms by group and stratum: groups with most requests first, strata in the order in which they cut."""
    groups = dict.fromkeys(tuple(row["by_values"]) for row in found)
    places: dict[Place, Arms] = {(group, stratum): {} for group in groups for stratum in STRATA}
    for row in found:
        places[tuple(row["by_values"]), row["stratum"]][row["arm"]] = row
    return places


def _rows(place: Place, arms: Arms, base: str | None, measured: Sequence[Measured]) -> Iterator[list[Any]]:
    group, stratum = place
    if base not in arms:
        return
    for arm in sorted(set(arms) - {base}):
        for names, found in measured:
            most, least = (found.get((*group, stratum, each)) for each in (arm, base))
            sizes = [each.samples if each else 0 for each in (most, least)]
            draws = [each.draws if each else 0 for each in (most, least)]
            for index, (name, _) in enumerate(names):
                of, to = (each.quantiles[index] if each else Estimate(None) for each in (most, least))
                cells = [*rounded([of.value, to.value]), *_ends(relative(of, to))]
                yield [*group, stratum, arm, base, name, "us", *cells, *sizes, *draws]
        of, to = (_failed(arms[each]) for each in (arm, base))
        cells = [*rounded([of.value, to.value], 6), *_ends(difference(of, to))]
        pair = (arms[arm], arms[base])
        counts = [each[name] for name in ("requests", "draws") for each in pair]
        yield [*group, stratum, arm, base, "failed", "share", *cells, *(int(count) for count in counts)]


def _failed(arm: Row) -> Estimate:
    spread = Spread(arm["sum_aa"], arm["sum_an"], arm["sum_nn"])
    return clustered_share(int(arm["requests"]), Clusters(arm["draws"], arm["failed"], spread))


def _ends(found: Estimate) -> list[float | int | None]:
    return rounded([found.value, found.low, found.high], 6)
