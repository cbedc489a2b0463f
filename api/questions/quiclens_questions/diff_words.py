"""What `diff` found, in words: a sentence, and a comment of a continuous integration in Markdown. Pure."""

from collections.abc import Callable, Iterator, Sequence

from quiclens_questions.causes import look
from quiclens_questions.documents import ChangedFigure, DiffDocument, DiffSide
from quiclens_questions.units import duration

_LEFT_OUT = {
    "other_side": "of the other side's log",
    "not_ended": "did not end, or were reset",
    "damaged": "of a damaged log",
    "twice": "of a trace that is there twice",
    "no_counterpart": "without a counterpart",
    "rejected_records": "records that could not be read",
}
_TOLD_FIRST = ("p95", "mean", "p75", "p50", "p99")
_CAUSES_TOLD = 2


def sentence(document: DiffDocument) -> str:
    """Slower or faster, by how much, and which causes changed most."""
    old, new = document["old"], document["new"]
    if not old["requests"] or not new["requests"]:
        return f"Nothing to compare: {old['requests']:,} requests before, {new['requests']:,} after."
    if document["verdict"] == "too_few":
        few = f"{old['connections']:,} connections before, {new['connections']:,} after"
        return f"Too few to say: {few}; {document['fewest_connections']} of each are needed."
    told = next(
        (each for name in _TOLD_FIRST for each in document["durations"] if each["name"] == name and each["is_sure"]),
        None,
    )
    mean = document["durations"][0]
    causes = [_changed(each) for each in document["causes"] if each["is_sure"]][:_CAUSES_TOLD]
    of_mean = f"the mean by {signed(mean['us'])}{interval(mean)}"
    if document["verdict"] == "same":
        return f"Not different: no duration changed beyond chance, {of_mean}; {of_what(document)}."
    verdict = document["verdict"].capitalize()
    if told is None:
        beside = f"What the durations show of it is no more than chance, {of_mean}; {of_what(document)}."
        return f"{verdict}: {' and '.join(causes)}. {beside}"
    said = (
        f"{verdict}: {told['name']} {duration(round(told['old_us']))} before, {duration(round(told['new_us']))} after, "
    )
    said += f"{signed(told['us'])}{interval(told)}; {of_what(document)}."
    return f"{said} {_sentence(' and '.join(causes))}".strip()


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}." if text else ""


def _changed(each: ChangedFigure) -> str:
    verb = "grew" if each["us"] > 0 else "shrank"
    return f"{look(each['name']).name} {verb} by {signed(each['us'])} a request{interval(each)}"


def of_what(document: DiffDocument) -> str:
    """Of how many requests and connections."""
    old, new = document["old"], document["new"]
    if document["paired"]:
        return f"{old['requests']:,} pairs of requests on {old['connections']:,} pairs of connections"
    return (
        f"{old['requests']:,} requests on {old['connections']:,} connections before, "
        f"{new['requests']:,} on {new['connections']:,} after"
    )


def signed(us: float) -> str:
    return f"{'+' if us >= 0 else '-'}{duration(round(abs(us)))}"


def interval(each: ChangedFigure) -> str:
    """Of 95 %; nothing where there are too few connections."""
    low, high = each["low_us"], each["high_us"]
    return "" if low is None or high is None else f" ({signed(low)} to {signed(high)})"


def left_out(side: DiffSide) -> str:
    """What of a folder is not compared; empty where all is."""
    return ", ".join(f"{count:,} {_LEFT_OUT[reason]}" for reason, count in side["left_out"].items() if count)


def markdown(document: DiffDocument) -> Iterator[str]:
    """A comment: the sentence, and a table of durations and of causes."""
    yield f"**{sentence(document)}**"
    yield ""
    yield "| | before | after | difference | 95 % interval | |"
    yield "|---|--:|--:|--:|---|---|"
    yield from _rows(document["durations"], lambda name: name)
    yield from _rows(document["causes"], lambda name: look(name).name)
    yield ""
    for name, side in (("before", document["old"]), ("after", document["new"])):
        left = left_out(side)
        counts = f"{side['requests']:,} requests, {side['connections']:,} connections"
        yield f"- {name}: {counts}{f'; left out: {left}' if left else ''}"


def _rows(figures: Sequence[ChangedFigure], named: Callable[[str], str]) -> Iterator[str]:
    for each in figures:
        *told, sure = cells(each)
        yield f"| {named(each['name'])} | {' | '.join(told)} | {f'**{sure}**' if sure else ''} |"


def cells(each: ChangedFigure) -> tuple[str, str, str, str, str]:
    """A figure in a table: before, after, the difference, its interval, and whether it is sure."""
    old, new = duration(round(each["old_us"])), duration(round(each["new_us"]))
    between = interval(each).strip(" ()") or "–"
    return old, new, signed(each["us"]), between, "sure" if each["is_sure"] else ""
