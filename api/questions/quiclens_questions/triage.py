"""`triage`: what has become worse in a stretch of time: who, since when, how many, and what of.

Every request of the stretch, and of the day before it, is compared with its kind (protocol, carrier and path): it is
slow if it took longer than nine in ten of them, very slow if longer than 99 in 100, extreme if longer than 999 in
1,000, in that third of the time in which they were quickest. Of every value of every attribute, and of some pairs, the
share of slow, very slow, extreme and failed requests before a moment is compared with that after it, for moments of a
minute to a day ago. The conditions that show the largest gains are then looked at together, up to three at once: who
it is, is the description with the largest gain (`statistics/changes.py`), where each condition more must be worth
`WORTH`. When it began is the change point of its minutes, those of the day before among them: whoever asks for the last
five minutes is told of what has been so for an hour.

Nothing is told that chance would make of all these comparisons in more than one of twenty weeks of windows: chances
are those of Fisher's exact test on counts divided by the dispersion, which is the design effect of users (else
connections) times Pearson's over stretches before; they are multiplied by the number of comparisons (Bonferroni).
Where a part of a description has all that became worse, it is narrowed to that; where it leaves out requests that did
too, it is widened. What is found is left out, and the rest
is looked at again, for at most `FINDINGS_AT_MOST` findings. Where nothing more is found that users feel, the rest is
looked at for what happens on the way: more requests that wait for a handshake, lose packets, wait for a
retransmission, or go over something else than QUIC. All are ranked by the seconds that users lost beyond what the same
paths took before.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import cached_property
from itertools import combinations
from statistics import median
from typing import Any

from quiclens_schema.catalogue import CAUSES
from quiclens_schema.store import Store

from quiclens_questions.different import AttributeCondition
from quiclens_questions.documents import TriageDocument, TriageExample, TriageFinding
from quiclens_questions.findings import design_effect
from quiclens_questions.moment import bound
from quiclens_questions.slow import coverage
from quiclens_questions.statements import ask_written, sql, together, typed
from quiclens_questions.statistics.changes import Before, ChangePoint, CountSeries, change_point, dispersion_of
from quiclens_questions.triage_measures import FELT, ON_THE_WAY, Measures
from quiclens_questions.triage_words import sentence
from quiclens_questions.watch import BUCKET_S, RATE, RATE_OVER_S
from quiclens_questions.where import EVERYTHING, Where

ATTRIBUTES = (
    "carrier", "country", "region", "city", "network_type", "pop", "cluster", "server", "server_release", "protocol",
    "app", "app_version", "device", "authority", "path", "stack", "stack_version", "quic_version",
    "congestion_controller", "arm",
)  # fmt: skip
OF_TRACES = frozenset({"protocol", "stack", "stack_version", "quic_version", "congestion_controller"})
"""Attributes that say over what a request went, or whether it was traced: were those left out that have one value, the
rest would be others by another protocol."""
PAIRS = (("carrier", "city"), ("carrier", "server"), ("carrier", "pop"), ("city", "server"), ("server", "path"))
SPLITS_S = (86_400, 43_200, 21_600, 10_800, 3_600, 1_800, 600, 300, 120, 60)
MOMENTS = len(SPLITS_S) + 1
BEFORE = timedelta(days=1)
FEWEST = 20  # requests in the window that a condition must hold for
FEWEST_OF_THIRD = 60  # requests of a kind that say how long it takes in a third of the time
FEWEST_OF_MOST = 3_000  # and which durations only one in a thousand exceeds
KINDS_AT_MOST = 1_500
ENOUGH = 200_000  # requests that say where to look
LOOKED_AT = 40  # values and pairs with the largest gains
TOGETHER = 14  # conditions that are looked at together
WORTH = 2.0  # gain by which a condition more must be better
CONDITIONS_AT_MOST = 3
NOT_WORSE = 2.0  # gain below which the rest of a description did not become worse
ALSO_WORSE = 8.0  # gain from which on what a wider description has besides became worse too
PATHS_AT_MOST = 10_000  # of a finding, that are compared one by one; all others are compared as one
FINDINGS_AT_MOST = 3
EXAMPLES = 3
TIMES_MIN = 1.3  # by which a share must grow to be told
LEVEL = RATE * BUCKET_S / RATE_OVER_S
LEVEL_OF_EACH = LEVEL / 2
"""Of what users feel, and of what happens on the way."""

Row = dict[str, Any]


@dataclass(frozen=True)
class Triage:
    """The stretch that is asked about, and which requests: `texts` are the conditions as they were written."""

    since: datetime
    until: datetime
    where: Where = EVERYTHING
    texts: tuple[str, ...] = ()

    @property
    def edges(self) -> list[datetime]:
        """Moments at which something may have begun, the earliest first."""
        within = [self.until - timedelta(seconds=each) for each in SPLITS_S]
        return [self.since, *(each for each in within if each > self.since)]


@dataclass(frozen=True)
class Usual:
    """How long requests of each kind take: the durations that one in ten, one in a hundred and one in a thousand
    exceed, us; the last 0 where there are too few to say."""

    kinds: Sequence[int]
    slow_us: Sequence[int]
    very_slow_us: Sequence[int]
    extreme_us: Sequence[int]
    all_slow_us: int
    all_very_slow_us: int
    all_extreme_us: int
    requests: int
    oldest: datetime | None
    newest: datetime | None

    @property
    def parameters(self) -> Row:
        names = (
            "kinds", "slow_us", "very_slow_us", "extreme_us", "all_slow_us", "all_very_slow_us", "all_extreme_us",
        )  # fmt: skip
        return {name: getattr(self, name) for name in names}

    @property
    def every(self) -> int:
        """Of every so many requests that do not count one is enough, where one only looks for suspects."""
        return max(1, self.requests // ENOUGH)


@dataclass(frozen=True)
class Suspect:
    """A description, and the change of one measure at one of the edges that has the largest gain."""

    conditions: tuple[AttributeCondition, ...]
    measure: str
    edge: int
    counts: Before
    gain: float


def triage(store: Store, asked: Triage) -> TriageDocument:
    """What was found, the most lost seconds first."""
    usual, covered = together(
        lambda: _usual(store, asked),
        lambda: coverage(store, asked.where, _window(asked.since, asked.until)),
    )
    # Nothing can be seen to begin after the newest request.
    if usual.newest is not None and usual.newest >= asked.since:
        asked = replace(asked, until=min(asked.until, usual.newest + timedelta(microseconds=1)))
    found: list[TriageFinding] = []
    suspects: list[tuple[Suspect, datetime]] = []
    tested = 0
    for measures in (FELT, ON_THE_WAY):
        if usual.requests and len(found) < FINDINGS_AT_MOST:
            known = Known()
            for suspect, since in suspects:
                known = known.more([each for each in suspect.conditions if each.attribute not in OF_TRACES], since)
            looking = _Looking(store, asked, usual, measures, known)
            for suspect, told in looking.found(FINDINGS_AT_MOST - len(found)):
                found.append(told)
                suspects.append((suspect, told["since"]))
            tested += looking.tested
    return {
        "where": list(asked.texts),
        "since": asked.since,
        "until": asked.until,
        "before_since": asked.since - BEFORE,
        "tested": tested,
        "level": LEVEL,
        "findings": sorted(found, key=lambda each: -each["lost_s"]),
        "coverage": covered,
    }


def _window(since: datetime, until: datetime) -> Row:
    return {"since": bound(since), "until": bound(until)}


def _usual(store: Store, asked: Triage) -> Usual:
    window = _window(asked.since - BEFORE, asked.until)
    rows = ask_written(
        store,
        "triage_kinds",
        asked.where,
        {},
        {**window, "limit": KINDS_AT_MOST, "fewest": FEWEST_OF_THIRD, "fewest_of_most": FEWEST_OF_MOST},
    ).dicts()
    some = rows[0]
    slow_us, very_slow_us, extreme_us = some["all_usual"]
    kinds = {row["kind"]: row["usual"] for row in rows if row["usual"]}
    return Usual(
        list(kinds),
        [each[0] for each in kinds.values()],
        [each[1] for each in kinds.values()],
        # Of a kind with too few, what all take counts, unless more than one in a hundred of it take longer.
        [each[2] or (extreme_us and max(extreme_us, each[1])) for each in kinds.values()],
        slow_us,
        very_slow_us,
        extreme_us,
        some["all_requests"],
        some["oldest"],
        some["newest"],
    )


def _holds(conditions: Sequence[AttributeCondition], name: str) -> tuple[str, Row]:
    """Whether a description holds, as SQL with its parameters."""
    texts = [each.sql(f"{name}_{place}") for place, each in enumerate(conditions)]
    return " AND ".join(texts) or "true", {f"{name}_{place}": each.value for place, each in enumerate(conditions)}


@dataclass(frozen=True)
class Known:
    """What was found before: requests that are left out, as SQL with its parameters."""

    texts: tuple[str, ...] = ()
    parameters: Mapping[str, Any] = field(default_factory=dict[str, Any])

    def more(self, conditions: Sequence[AttributeCondition], since: datetime) -> "Known":
        """Without those of a description either."""
        name = f"known_{len(self.texts)}"
        holds, given = _holds(conditions, name)
        text = f"\n    AND NOT ({holds} AND started_at >= {{{name}_since:DateTime64(6, 'UTC')}})"
        return Known((*self.texts, text), {**self.parameters, **given, f"{name}_since": bound(since)})


class _Looking:
    """Looks for one suspect after another, by some measures, and judges it; what was found before is left out."""

    def __init__(self, store: Store, asked: Triage, usual: Usual, measures: Measures, known: Known) -> None:
        self._store, self._question, self._usual, self._measures = store, asked, usual, measures
        self._known = known
        self._effects = self._design_effects()
        self.tested = 0
        """Comparisons of the first suspect."""

    def found(self, at_most: int) -> Iterator[tuple[Suspect, TriageFinding]]:
        """One finding after another."""
        for _ in range(at_most):
            suspect, tests = self._suspect()
            self.tested = self.tested or tests
            told = self._judged(suspect, tests) if suspect else None
            if suspect is None or told is None:
                return
            if told["since"] < self._question.since:
                suspect, told = self._of_more(suspect, told, tests)
            yield suspect, told
            self._known = self._known.more(suspect.conditions, told["since"])

    def _of_more(self, suspect: Suspect, told: TriageFinding, tests: int) -> tuple[Suspect, TriageFinding]:
        """Of all requests since it began, where those of the stretch were so few that the description has a condition
        too many."""
        longer = replace(self._question, since=told["since"])
        again, _ = _Looking(self._store, longer, self._usual, self._measures, self._known)._suspect()
        if again is None or not set(again.conditions) < set(suspect.conditions):
            return suspect, told
        told_again = self._judged(again, tests)
        return (again, told_again) if told_again else (suspect, told)

    def _ask(self, name: str, marks: Mapping[str, str], parameters: Row) -> list[Row]:
        """One question about the requests of the stretch and of the day before it, but those that are left out."""
        asked = self._question
        given = {
            **_window(asked.since - BEFORE, asked.until),
            "edges": [bound(each) for each in asked.edges],
            "segments": len(asked.edges) + 1,
            "every": 1,
            **self._usual.parameters,
            **self._known.parameters,
            **parameters,
        }
        written = {
            "requests": sql(self._measures.requests),
            "asked conditions": asked.where.sql(),
            **self._measures.marks,
            **marks,
        }
        return ask_written(self._store, name, asked.where, written, given, "".join(self._known.texts)).dicts()

    def _design_effects(self) -> dict[str, float]:
        """The middle one of three thirds of the time: what became worse for some users in one of them does not
        count."""
        oldest, newest = self._usual.oldest, self._usual.newest
        if oldest is None or newest is None:
            return dict.fromkeys(self._measures.names, 1.0)
        given = {"oldest": bound(oldest), "newest": bound(newest), "users_every": self._usual.every}
        rows = self._ask("triage_clusters", {}, given)
        own = {
            name: median(_design_effect(row, place) for row in rows) for place, name in enumerate(self._measures.names)
        }
        return {each.name: own[each.like] for each in self._measures.every}

    def _suspect(self) -> tuple[Suspect | None, int]:
        """The description with the largest gain, and how many comparisons there were."""
        sets = [(each,) for each in ATTRIBUTES] + list(PAIRS)
        marks = {
            "masks": ", ".join(f"toUInt64({_grouping(members)})" for members in sets),
            "columns": ", ".join(ATTRIBUTES),
            "members": ", ".join(str([ATTRIBUTES.index(name) + 1 for name in members]) for members in sets),
            "texts": ", ".join(f"toString({name})" for name in ATTRIBUTES),
            "sets": ", ".join(f"({', '.join(members)}, segment)" for members in sets),
        }
        given = {"fewest": FEWEST, "limit": LOOKED_AT, "every": self._usual.every}
        rows = self._ask("triage_values", marks, given)
        if not rows:
            return None, 0
        picked: dict[str, AttributeCondition] = {}
        for row in rows:
            for name, value in zip(sets[row["place"] - 1], row["values"], strict=True):
                condition = AttributeCondition(name, "=", value)
                if len(picked) < TOGETHER:
                    picked.setdefault(condition.name, condition)
        conditions = list(picked.values())
        texts = [f"toUInt32({each.sql(f'mask_{place}')}) * {1 << place}" for place, each in enumerate(conditions)]
        values = {f"mask_{place}": each.value for place, each in enumerate(conditions)}
        edges = len(self._question.edges)
        rows_of_masks = self._ask("triage_masks", {"mask": " + ".join(texts)}, values)
        counted = Masks(conditions, rows_of_masks, self._measures, edges + 1, self._effects)
        # As many moments for every stretch: what began before it is looked for as far back.
        tests = (rows[0]["groups"] + 2 ** len(conditions)) * MOMENTS * len(self._measures.every)
        return counted.best(), tests

    def _judged(self, suspect: Suspect, tests: int) -> TriageFinding | None:
        """What is told of a suspect, or None where chance, or how much its own minutes vary, explains it."""
        effect = self._effects[suspect.measure]
        if suspect.counts.chance(effect) * tests > LEVEL_OF_EACH:
            return None
        holds, given = _holds(suspect.conditions, "holds")
        minutes = self._ask("triage_minutes", {"holds": holds}, given)
        hits, of = self._measures.series(minutes, suspect.measure).scaled()
        # It may have begun before the stretch: were these minutes taken for usual, it would seem to vary by itself.
        point = change_point(hits, of, effect)
        if point is None:
            return None
        dispersion = effect * _dispersion_before(hits, of, point)
        chance = min(1.0, point.counts.chance(dispersion) * tests)
        if chance > LEVEL_OF_EACH or point.counts.share_after < TIMES_MIN * point.counts.share:
            return None
        point = change_point(hits, of, dispersion) or point
        since = minutes[point.place]["minute"]
        began = {"began": bound(since)}
        paths = self._ask("triage_affected", {"holds": holds}, {**given, **began, "paths_at_most": PATHS_AT_MOST})
        slower = _slower(paths)
        cause, before_us, after_us = _cause(paths)
        measure = self._measures[suspect.measure]
        marks = {
            "holds": holds,
            "counts": f"({measure.of} AND {measure.hit})",
            "cause": f"{cause}_us" if cause else "ifNull(duration_us, 0)",
        }
        examples = self._ask("triage_examples", marks, {**given, **began, "limit": EXAMPLES})
        some = paths[0]
        told: TriageFinding = {
            "sentence": "",
            "conditions": [each.document() for each in suspect.conditions],
            "measure": suspect.measure,
            "since": since,
            # It may have begun within the minute before the first that is wholly worse.
            "since_low": minutes[point.first - 1]["minute"],
            "since_high": minutes[point.last]["minute"] + timedelta(minutes=1),
            "requests": some["found_requests"],
            "requests_all": some["all_requests"],
            "users": some["found_users"] or None,
            "users_all": some["all_users"] or None,
            "share_before": round(point.counts.share, 6),
            "share_after": round(point.counts.share_after, 6),
            "excess": round(point.counts.excess, 1),
            "chance": float(f"{chance:.3g}"),
            "dispersion": round(dispersion, 2),
            "slower_us": None if slower is None else round(slower),
            "lost_s": round((slower or 0.0) * sum(row["after"] for row in paths) / 1e6, 3),
            "cause": cause,
            "cause_before_us": before_us,
            "cause_after_us": after_us,
            "traced_before": sum(row["traced_before"] for row in paths),
            "traced_after": sum(row["traced_after"] for row in paths),
            "examples": typed(TriageExample, examples),
        }
        return {**told, "sentence": sentence(told, self._question.until, self._question.texts)}


def _grouping(members: Sequence[str]) -> int:
    """What the engine's GROUPING gives for a grouping set: a bit for each attribute that is not in it, the first one's
    largest."""
    count = len(ATTRIBUTES)
    return sum(1 << (count - 1 - at) for at, name in enumerate(ATTRIBUTES) if name not in members)


def _design_effect(row: Row, place: int) -> float:
    """Of the measure at this place. Sums of weights are made those of as many requests as they are worth."""
    worth = CountSeries([row["hits"][place]], [row["of"][place]], [row["squares"][place]]).worth
    once = (worth * row[name][place] for name in ("of", "hits"))
    squared = (worth * worth * row[name][place] for name in ("hits_hits", "hits_of", "of_of"))
    return design_effect(*once, *squared)


@dataclass(frozen=True)
class Masks:
    """How many requests of each of so many segments of time meet which of some conditions, and how many of them count;
    `effects` are the design effects of the measures."""

    conditions: Sequence[AttributeCondition]
    rows: Sequence[Row]
    measures: Measures
    segments: int
    effects: Mapping[str, float]

    def best(self) -> Suspect | None:
        """Of all descriptions of up to three conditions, and of all requests, the one with the largest gain; or a wider
        one, where those that it has besides became worse too."""
        best: tuple[float, Suspect, int] | None = None
        for size in range(CONDITIONS_AT_MOST + 1):
            for chosen in combinations(range(len(self.conditions)), size):
                if len({self.conditions[place].attribute for place in chosen}) < size:
                    continue
                bits = sum(1 << place for place in chosen)
                for suspect in self._changes(bits):
                    gain = suspect.gain - WORTH * size
                    if gain > 0 and (best is None or gain > best[0]):
                        best = gain, suspect, bits
        return self._widened(*self._narrowed(*self._leaner(best[1], best[2]))) if best else None

    def _changes(self, bits: int) -> Iterator[Suspect]:
        """Of each measure and each edge, where its share grew."""
        for measure, series in self._counted(bits).items():
            for at in range(1, self.segments):
                change = series.at(at)
                if change.of_after >= FEWEST and change.share_after >= TIMES_MIN * change.share:
                    yield self._suspect(bits, measure, at - 1, change)

    def _suspect(self, bits: int, measure: str, edge: int, counts: Before) -> Suspect:
        return Suspect(self._named(bits), measure, edge, counts, counts.gain(self.effects[measure]))

    def _leaner(self, suspect: Suspect, bits: int) -> tuple[Suspect, int]:
        """Without conditions that leave nothing out, as the place of a server does beside the server."""
        for place in range(len(self.conditions)):
            lean = bits & ~(1 << place)
            if lean != bits and self._counted(lean) == self._counted(bits):
                return self._leaner(replace(suspect, conditions=self._named(lean)), lean)
        return suspect, bits

    def _narrowed(self, suspect: Suspect, bits: int) -> tuple[Suspect, int]:
        """With a condition more, where all that became worse meets it: of what counts now alone, as failures may,
        every description that holds for it gains the same."""
        measure, effect, at = suspect.measure, self.effects[suspect.measure], suspect.edge + 1
        whole = self._series(bits, measure)
        found: list[tuple[float, Suspect, int]] = []
        for place in range(len(self.conditions)):
            narrow_bits = bits | 1 << place
            if narrow_bits == bits or narrow_bits.bit_count() > CONDITIONS_AT_MOST:
                continue
            part = self._series(narrow_bits, measure)
            rest, alike = whole.less(part).at(at), part.at(at, whole.worth)
            is_whole = alike.excess >= 0.9 * suspect.counts.excess and rest.gain(effect) < NOT_WORSE
            if is_whole and suspect.counts.chance_of_part(alike, effect) < LEVEL_OF_EACH:
                narrow = self._suspect(narrow_bits, measure, suspect.edge, part.at(at))
                found.append((narrow.counts.share_after, narrow, narrow_bits))
        if not found:
            return suspect, bits
        _, narrow, narrow_bits = max(found, key=lambda each: each[0])
        return self._narrowed(*self._leaner(narrow, narrow_bits))

    def _widened(self, suspect: Suspect, bits: int) -> Suspect:
        """Without a condition where those that it leaves out became worse too."""
        measure, at = suspect.measure, suspect.edge + 1
        for place in range(len(self.conditions)):
            wide_bits = bits & ~(1 << place)
            if wide_bits == bits:
                continue
            wide = self._series(wide_bits, measure)
            if wide.less(self._series(bits, measure)).at(at).gain(self.effects[measure]) >= ALSO_WORSE:
                return self._widened(self._suspect(wide_bits, measure, suspect.edge, wide.at(at)), wide_bits)
        return suspect

    def _named(self, bits: int) -> tuple[AttributeCondition, ...]:
        return tuple(each for place, each in enumerate(self.conditions) if bits >> place & 1)

    def _counted(self, bits: int) -> dict[str, CountSeries]:
        """Of each measure, by segment, the requests that meet these conditions."""
        return {name: self._series(bits, name) for name in self.measures.names}

    def _series(self, bits: int, measure: str) -> CountSeries:
        met = [series for mask, series in self._by_mask[measure].items() if mask & bits == bits]
        return CountSeries.sum_of(met, self.segments)

    @cached_property
    def _by_mask(self) -> Mapping[str, Mapping[int, CountSeries]]:
        """Of each measure, by segment, the requests that meet the same conditions."""
        of_masks: dict[int, list[Row]] = {}
        for row in self.rows:
            of_masks.setdefault(row["mask"], []).append(row)
        empty = {"hits": [0.0] * len(self.measures.every)}
        empty |= dict.fromkeys(("of", "squares"), empty["hits"])
        whole = {
            mask: [next((row for row in rows if row["segment"] == at), empty) for at in range(self.segments)]
            for mask, rows in of_masks.items()
        }
        return {
            name: {mask: self.measures.series(rows, name) for mask, rows in whole.items()}
            for name in self.measures.names
        }


def _dispersion_before(hits: Sequence[float], of: Sequence[float], point: ChangePoint) -> float:
    """Pearson's over stretches before the change, each as long as what came after it, 24 at least."""
    length = max(1, min(len(of) - point.place, point.place // 24))
    starts = range(0, point.place - length + 1, length)
    return dispersion_of([sum(hits[at : at + length]) for at in starts], [sum(of[at : at + length]) for at in starts])


def _slower(paths: Sequence[Row]) -> float | None:
    """By how much requests take longer on average than those of the same paths took before, us."""
    both = [row for row in paths if row["after"] and row["before"]]
    many = sum(row["after"] for row in both)
    return sum(row["after"] * (row["mean_after_us"] - row["mean_before_us"]) for row in both) / many if many else None


def _cause(paths: Sequence[Row]) -> tuple[str | None, int | None, int | None]:
    """The cause that grew most, and its mean before and after, of the paths that have traces on both sides, by for how
    many requests these speak now; none where nothing grew."""
    both = [row for row in paths if row["traced_after"] and row["traced_before"]]
    many = sum(row["traced_weight_after"] for row in both)
    if not many:
        return None, None, None

    def mean(side: str, place: int) -> float:
        of_paths = (
            row["traced_weight_after"] * row[f"cause_{side}_us"][place] / row[f"traced_weight_{side}"] for row in both
        )
        return float(sum(of_paths) / many)

    grown, place = max((mean("after", place) - mean("before", place), place) for place in range(len(CAUSES)))
    if grown <= 0:
        return None, None, None
    return CAUSES[place], round(mean("before", place)), round(mean("after", place))
