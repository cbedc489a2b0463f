"""What is different about the slow ones: attributes, and pairs of them, that they have more often than the others.

Over all rows, not a sample. A condition is a value of a categorical attribute, or a measured attribute at or above (or
below) a quantile of its own. `findings.py` says which of them stand out, and in which order.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from quiclens_schema.store import Result, Store

from quiclens_questions.documents import (
    ConditionDocument,
    CountedConditionsDocument,
    DifferentDocument,
    FindingDocument,
)
from quiclens_questions.findings import FEWEST, Finding, Group, Population, design_effect, found, standing_out
from quiclens_questions.moment import bound
from quiclens_questions.slow import coverage
from quiclens_questions.statements import ask_written, sql, together
from quiclens_questions.where import EVERYTHING, Where

CATEGORIES = (
    "carrier", "country", "region", "city", "asn", "network_type", "pop", "cluster", "server", "server_release",
    "protocol", "app", "app_version", "device", "method", "status", "authority", "stack", "stack_version",
    "quic_version", "congestion_controller", "arm", "request_number",
)  # fmt: skip
NUMBERS = ("min_rtt_us", "packets_lost", "request_bytes", "response_bytes")
SYMPTOMS = ("min_rtt_us", "packets_lost")
"""Attributes that tell how requests are slow, not which they are: they are in no pair, and explain nothing."""
_UPPER = (0.5, 0.75, 0.9, 0.95, 0.99)
_LOWER = (0.5, 0.25, 0.1)
_VALUES_AT_MOST = 200  # of one attribute, those with most of the chosen
_PAIRED_AT_MOST = 8  # conditions of one attribute that are looked at in pairs
_PAIRS_AT_MOST = 150
_PAIRS_COUNTED = 30_000  # more than there are of 8 conditions each of all attributes
_WITHIN_AT_MOST = 100  # pairs of which one condition may follow from the other
_SAMPLED_ABOUT = 20_000  # requests in which pairs are counted before it is known which are worth counting in all
_DURATION_MAX = (1 << 63) - 1

Row = dict[str, Any]


@dataclass(frozen=True)
class Different:
    """The population, and which of it are asked about: durations (0: from its p95 on) and a stretch of time."""

    since: datetime | None = None
    until: datetime | None = None
    where: Where = EVERYTHING
    chosen_from_us: int = 0
    chosen_to_us: int = _DURATION_MAX
    chosen_since: datetime | None = None
    chosen_until: datetime | None = None
    categories: tuple[str, ...] = CATEGORIES
    numbers: tuple[str, ...] = NUMBERS
    limit: int = 20


@dataclass(frozen=True)
class AttributeCondition:
    """Something that holds for a request or does not, and how it is asked: an expression with one bound value."""

    attribute: str
    operator: str
    value: str

    @property
    def name(self) -> str:
        return f"{self.attribute}{self.operator}{self.value}"

    @property
    def scales(self) -> tuple[str, ...]:
        """Of what it is an edge; nothing where it is a value."""
        return () if self.operator == "=" else (f"{self.attribute}{self.operator}",)

    def sql(self, parameter: str) -> str:
        if self.operator == "=":
            return f"ifNull(toString({self.attribute}) = {{{parameter}:String}}, 0)"
        return f"ifNull({self.attribute} {self.operator} {{{parameter}:UInt64}}, 0)"

    def document(self) -> ConditionDocument:
        return {"attribute": self.attribute, "operator": self.operator, "value": self.value}


def different(store: Store, asked: Different) -> DifferentDocument:
    """The document: the population, what was chosen of it, and the findings, the widest and sharpest first."""
    window = _window(asked)
    edges, covered = together(
        lambda: _edges(store, asked, window),
        lambda: coverage(store, asked.where, {"since": window["since"], "until": window["until"]}),
    )
    is_of_a_stretch = asked.chosen_since is not None or asked.chosen_until is not None
    if asked.chosen_from_us == 0 and asked.chosen_to_us == _DURATION_MAX and not is_of_a_stretch:
        window["chosen_from_us"] = edges["slow_us"] or 0
    whole, known, counted = together(
        lambda: _whole(store, asked, window),
        lambda: _known(store, asked, window),
        lambda: _singles(store, asked, window, edges),
    )
    counted = [(condition, replace(group, known=known[condition.attribute])) for condition, group in counted]
    findings: list[Finding] = []
    conditions: dict[str, AttributeCondition] = {}
    if 0 < whole.chosen < whole.requests:
        conditions = {condition.name: condition for condition, _ in counted}
        singles = [group for _, group in counted]
        pairs, tested = _pairs(store, asked, window, counted, whole)
        findings = found(singles, pairs, tested, whole)
    return {
        "requests": whole.requests,
        "chosen": whole.chosen,
        "chosen_from_us": window["chosen_from_us"],
        "design_effect": round(whole.effect, 2),
        "tested": len(conditions),
        "findings": [_shown(each, conditions) for each in findings[: asked.limit]],
        "coverage": covered,
    }


def _window(asked: Different) -> Row:
    ends = {name: getattr(asked, name) for name in ("since", "until", "chosen_since", "chosen_until")}
    times = {name: bound(end) if end else None for name, end in ends.items()}
    return {**times, "chosen_from_us": asked.chosen_from_us, "chosen_to_us": asked.chosen_to_us}


def _edges(store: Store, asked: Different, window: Row) -> Row:
    """The slow ones' least duration, and for each measured attribute its quantiles, null where it has no value."""
    levels = ", ".join(str(level) for level in (*_UPPER, *_LOWER))
    exact = [f"quantilesExact({levels})({name})" for name in asked.numbers]
    row = _ask(store, "different_edges", asked, window, {"numbers": ", ".join(exact) or "[0]"}).dicts()[0]
    return row


def _whole(store: Store, asked: Different, window: Row) -> Population:
    row = _ask(store, "different_totals", asked, window).dicts()[0]
    return Population(int(row["requests"]), int(row["chosen"]), design_effect(**row))


def _known(store: Store, asked: Different, window: Row) -> dict[str, tuple[int, int]]:
    """Of each attribute, how many requests have a value, and how many of those are chosen."""
    names = (*asked.categories, *asked.numbers)
    marks = {
        "names": ", ".join(f"'{name}'" for name in names),
        "known": ", ".join(f"countIf({name} IS NOT NULL)" for name in names),
        "chosen": ", ".join(f"countIf({name} IS NOT NULL AND is_chosen)" for name in names),
    }
    rows = _ask(store, "different_known", asked, window, marks).dicts()
    return {row["attribute"]: (row["n"], row["s"]) for row in rows}


def _singles(store: Store, asked: Different, window: Row, edges: Row) -> list[tuple[AttributeCondition, Group]]:
    """Each value of each attribute: all categorical ones in one look at the population, edges of numbers in another."""
    numbers = _measured(asked, edges)
    bound_values: Row = {f"edge_{place}": int(condition.value) for place, condition in enumerate(numbers)}
    tuples = []
    for place, condition in enumerate(numbers):
        holds = condition.sql(f"edge_{place}")
        named = f"'{condition.attribute}', '{condition.operator}', '{int(condition.value)}'"
        tuples.append(f"({named}, countIf({holds}), countIf({holds} AND is_chosen))")
    marks = {
        "names": ", ".join(f"'{name}'" for name in asked.categories),
        "texts": ", ".join(f"toString({name})" for name in asked.categories),
        "is in set": ", ".join(f"GROUPING({name})" for name in asked.categories),
        "sets": ", ".join(f"({name})" for name in asked.categories),
        "numbers": ", ".join(tuples) or "('', '', '', toUInt64(0), toUInt64(0))",
    }
    values_in_all = _VALUES_AT_MOST * len(asked.categories) + len(numbers)
    limits = {"fewest": FEWEST, "values": _VALUES_AT_MOST, "limit": values_in_all}
    rows = _ask(store, "different_values", asked, {**window, **limits, **bound_values}, marks).dicts()
    rows.sort(key=lambda row: (*asked.categories, *asked.numbers).index(row["attribute"]))
    found_conditions = [AttributeCondition(row["attribute"], row["operator"], row["value"]) for row in rows]
    return [
        (each, Group((each.name,), row["n"], row["s"], scales=each.scales, is_symptom=each.attribute in SYMPTOMS))
        for each, row in zip(found_conditions, rows, strict=True)
    ]


def _measured(asked: Different, edges: Row) -> list[AttributeCondition]:
    """At or above its upper quantiles, at or below its lower ones; equal ones once."""
    conditions = {}
    for name, values in zip(asked.numbers, edges["edges"], strict=False):
        for place, value in enumerate(values):
            if value is not None and value == value:
                operator = ">=" if place < len(_UPPER) else "<="
                each = AttributeCondition(name, operator, str(int(value)))
                conditions[each.name] = each
    return list(conditions.values())


def _pairs(
    store: Store, asked: Different, window: Row, counted: Sequence[tuple[AttributeCondition, Group]], whole: Population
) -> tuple[list[Group], int]:
    """The pairs with most of the chosen beyond what is expected, and how many pairs there could have been."""
    by_attribute: dict[str, list[tuple[AttributeCondition, Group]]] = {}
    for condition, group in counted:
        if group.is_symptom:
            continue
        by_attribute.setdefault(condition.attribute, []).append((condition, group))
    sizes = [len(each) for each in by_attribute.values()]
    possible = (sum(sizes) ** 2 - sum(size * size for size in sizes)) // 2
    if not possible:
        return [], 0
    picked: list[AttributeCondition] = []
    groups: list[Group] = []
    attributes: list[int] = []
    for place, several in enumerate(by_attribute.values()):
        surest = sorted(several, key=lambda one: -_surplus(one[1], whole))[:_PAIRED_AT_MOST]
        picked += [condition for condition, _ in surest]
        groups += [group for _, group in surest]
        attributes += [place] * len(surest)
    places = _Places(picked)
    known = standing_out([group for _, group in counted], whole)
    standing = frozenset(name for each in known for name in each.group.names)
    likely = _likely(
        store, asked, {**window, **places.bound, "attributes": attributes}, places, groups, standing, whole
    )
    if not likely:
        return [], possible
    marks = {**places.marks, **places.of_pairs([(first, second) for first, second, _ in likely])}
    (totals,) = _ask(store, "different_pair_totals", asked, {**window, **places.bound}, marks).one()
    return [
        _together(groups[first - 1], groups[second - 1], n, s, whole)
        for (first, second, s), n in zip(likely, totals, strict=True)
    ], possible


def _together(one: Group, other: Group, requests: int, chosen: int, whole: Population) -> Group:
    known = min((each.known for each in (one, other)), key=lambda known: known or (whole.requests,))
    scales = tuple(each.scales[0] if each.scales else "" for each in (one, other))
    return Group((*one.names, *other.names), requests, chosen, known, scales)


def _likely(
    store: Store,
    asked: Different,
    given: Row,
    places: "_Places",
    groups: Sequence[Group],
    standing: frozenset[str],
    whole: Population,
) -> list[tuple[int, int, int]]:
    """Pairs, by the places of their conditions and with how many of the chosen both hold for, that are worth counting
    in all requests: those that promise most, and those of two conditions that stand out, of which one may follow from
    the other."""
    each = max(1, whole.requests // _SAMPLED_ABOUT)
    chosen, sampled = together(
        lambda: _pairs_of(store, asked, given, places, "is_chosen", fewest=5),
        lambda: _pairs_of(store, asked, given, places, f"cityHash64(started_at) % {each} = 0", fewest=1),
    )
    about = {(first, second): each * count for first, second, count in sampled}
    promising: list[tuple[float, tuple[int, int, int]]] = []
    within: list[tuple[int, tuple[int, int, int]]] = []
    for first, second, both_chosen in chosen:
        one, other = groups[first - 1], groups[second - 1]
        both = Group((), max(both_chosen, about.get((first, second), 0)), both_chosen)
        promising.append((-promise(one, other, both, whole), (first, second, both_chosen)))
        narrow = min(one, other, key=lambda group: group.requests)
        if narrow.chosen == both_chosen and standing.issuperset((*one.names, *other.names)):
            within.append((-both_chosen, (first, second, both_chosen)))
    most = (*sorted(promising)[:_PAIRS_AT_MOST], *sorted(within)[:_WITHIN_AT_MOST])
    return list(dict.fromkeys(pair for _, pair in most))


def _pairs_of(
    store: Store, asked: Different, given: Row, places: "_Places", which: str, fewest: int
) -> Sequence[tuple[int, int, int]]:
    """(place, place, for how many requests both hold) of these requests of the population."""
    marks = {**places.marks, "which": which}
    found = _ask(store, "different_pairs", asked, {**given, "fewest": fewest, "limit": _PAIRS_COUNTED}, marks)
    return [(first, second, count) for first, second, count in found.rows]


class _Places:
    """Conditions by their places, from 1, as one byte for each attribute, so that a request's value is looked at once
    however many conditions ask for it: of a categorical attribute the rank, from 1, of the condition that holds; of a
    measured one a bit for each of its conditions."""

    def __init__(self, picked: Sequence[AttributeCondition]) -> None:
        self.bound: Row = {}
        """Parameters."""
        of_attribute: dict[str, list[int]] = {}
        for place, condition in enumerate(picked, 1):
            of_attribute.setdefault(condition.attribute, []).append(place)
        self._byte: dict[int, tuple[int, int, int]] = {}  # by place: the attribute's number, which bits, and as what
        columns, held = [], []
        for number, (attribute, places) in enumerate(of_attribute.items()):
            if picked[places[0] - 1].operator == "=":
                columns.append(self._ranked(number, attribute, [picked[place - 1].value for place in places]))
                self.bound[f"places_{number}"] = places
                held.append(f"{{places_{number}:Array(UInt16)}}[byte_{number}]")
                self._byte |= {place: (number, 255, rank) for rank, place in enumerate(places, 1)}
                continue
            bits = []
            for bit, place in enumerate(places):
                self.bound[f"value_{place}"] = int(picked[place - 1].value)
                bits.append(f"toUInt8({picked[place - 1].sql(f'value_{place}')}) * {1 << bit}")
                held.append(f"toUInt16(if(bitTest(byte_{number}, {bit}), {place}, 0))")
                self._byte[place] = (number, 1 << bit, 1 << bit)
            columns.append(f"toUInt8({' + '.join(bits)}) AS byte_{number}")
        self.marks = {"columns": ", ".join(columns), "held": ", ".join(held)}
        """What is written into the questions about pairs."""

    def _ranked(self, number: int, attribute: str, values: Sequence[str]) -> str:
        self.bound[f"texts_{number}"] = list(values)
        self.bound[f"ranks_{number}"] = list(range(1, len(values) + 1))
        texts, ranks = f"{{texts_{number}:Array(String)}}", f"{{ranks_{number}:Array(UInt8)}}"
        # The values of a dictionary are looked at once each, not once a row.
        rank = f"transform(ifNull(toString({attribute}), ''), {texts}, {ranks}, toUInt8(0))"
        return f"CAST(if({attribute} IS NULL, 0, {rank}) AS UInt8) AS byte_{number}"

    def of_pairs(self, pairs: Sequence[tuple[int, int]]) -> dict[str, str]:
        """What is written into the question how often both hold: the bytes of two attributes as one number, and what is
        counted of it for each pair."""
        both, counts = {}, []
        for first, second in pairs:
            (one, bits, value), (other, more_bits, more_value) = self._byte[first], self._byte[second]
            name = f"both_{one}_{other}"
            both[name] = f"toUInt16(byte_{one}) * 256 + byte_{other} AS {name}"
            counts.append(f"countIf(bitAnd({name}, {bits * 256 + more_bits}) = {value * 256 + more_value})")
        return {"both": ", ".join(both.values()), "pairs": ", ".join(counts)}


def _surplus(group: Group, whole: Population) -> float:
    """Standard errors above what is expected."""
    expected = group.requests * group.among(whole).share
    return (group.chosen - expected) / math.sqrt(max(1.0, expected))


def promise(one: Group, other: Group, both: Group, whole: Population) -> float:
    """Standard errors above what the highest of these shares would give: that of the requests with the one condition
    and not the other, either way, and that of all others. How many requests have both is known from a sample."""
    beyond = [(one.requests, one.chosen), (other.requests, other.chosen), (whole.requests, whole.chosen)]
    rest = [(requests - both.requests, chosen - both.chosen) for requests, chosen in beyond]
    if min(requests for requests, _ in rest[:2]) <= 0:
        return 0.0  # one of them follows from the other
    expected = both.requests * max(chosen / requests for requests, chosen in rest if requests > 0)
    return (both.chosen - expected) / math.sqrt(max(1.0, expected))


def _ask(store: Store, name: str, asked: Different, window: Row, marks: Mapping[str, str] | None = None) -> Result:
    """Ask with the population and further text of ours written in."""
    written = {**(marks or {}), "population": sql("different_population")}
    return ask_written(store, name, asked.where, written, window)


def _shown(finding: Finding, conditions: Mapping[str, AttributeCondition]) -> FindingDocument:
    return {
        **_counted(finding, conditions),
        "is_symptom": finding.group.is_symptom,
        "through": [conditions[name].document() for name in finding.through],
        "also": [conditions[name].document() for name in finding.also],
        "nested": [_counted(each, conditions) for each in finding.nested],
    }


def _counted(finding: Finding, conditions: Mapping[str, AttributeCondition]) -> CountedConditionsDocument:
    return {
        "conditions": [conditions[name].document() for name in finding.group.names],
        "requests": finding.group.requests,
        "chosen": finding.group.chosen,
        "share": round(finding.share, 6),
        "share_elsewhere": round(finding.share_elsewhere, 6),
        "excess": round(finding.excess, 1),
        "excess_low": round(finding.excess_low, 1),
        "excess_high": round(finding.excess_high, 1),
        "chance": finding.chance,
    }
