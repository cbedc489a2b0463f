"""Two groups of requests side by side: how long they took, as they are and with the same mix, and what their time was
spent on."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from quiclens_schema.catalogue import CAUSES
from quiclens_schema.store import Store

from quiclens_questions.clustered import Sampled
from quiclens_questions.documents import ComparedDocument, ComparedGroup, Difference, Quantile, SameMixDocument
from quiclens_questions.report import Report, ReportQuestion
from quiclens_questions.rtt import QUANTILES
from quiclens_questions.standardised import same_mix, standardised
from quiclens_questions.statements import ask
from quiclens_questions.statistics.estimates import Estimate, difference
from quiclens_questions.tail import tail

Row = dict[str, Any]


def compare_groups(store: Store, first: ReportQuestion, second: ReportQuestion) -> ComparedDocument:
    """The groups `a` and `b` with their quantiles and 95 % intervals in us, and each quantile's difference, b less a.

    Requests that failed are no samples. The difference's interval is that of groups which were drawn apart.
    """
    a, b = _group(store, first), _group(store, second)
    return {
        "a": a,
        "b": b,
        "differences": _differences(a["quantiles"], b["quantiles"]),
        "same_mix": _same_mix(store, first, second),
    }


def _same_mix(store: Store, first: ReportQuestion, second: ReportQuestion) -> SameMixDocument | None:
    same = same_mix(store, first, second)
    if same is None:
        return None
    levels = [level for _, level in QUANTILES]
    a, b = (
        _estimated(standardised(store, asked, mix, same, levels))
        for asked, mix in zip((first, second), same.mixes, strict=True)
    )
    a_covered, b_covered = same.covered
    return {
        "by": list(same.by),
        "strata": len(same.strata),
        "a_covered": round(a_covered, 4),
        "b_covered": round(b_covered, 4),
        "a": a,
        "b": b,
        "differences": _differences(a, b),
    }


def _estimated(found: Sampled | None) -> dict[str, Quantile]:
    estimates = found.quantiles if found else [Estimate(None)] * len(QUANTILES)
    ends = (each.rounded() for each in estimates)
    return {
        name: {"us": us, "low_us": low, "high_us": high}
        for (name, _), (us, low, high) in zip(QUANTILES, ends, strict=True)
    }


def _group(store: Store, asked: ReportQuestion) -> ComparedGroup:
    report = tail(store, replace(asked, by=(), without=""))
    spent = ask(store, "spent", asked.window, asked.where).dicts()[0]
    causes = {cause: us for cause, us in zip(CAUSES, spent["cause_us"] or [0] * len(CAUSES), strict=True) if us}
    return {
        "where": list(asked.texts),
        "requests": spent["requests"],
        "traced": spent["traced"],
        "quantiles": _quantiles(report),
        "cause_us": causes,
        "coverage": report.coverage,
    }


def _quantiles(report: Report) -> dict[str, Quantile]:
    rows = report.dicts()
    row = rows[0] if rows else {}
    return {
        name: {
            "us": row.get(name),
            "low_us": row.get(f"{name}_sampling_low"),
            "high_us": row.get(f"{name}_sampling_high"),
        }
        for name, _ in QUANTILES
    }


def _differences(first: Mapping[str, Quantile], second: Mapping[str, Quantile]) -> list[Difference]:
    return [_difference(name, first[name], second[name]) for name, _ in QUANTILES]


def _difference(name: str, first: Quantile, second: Quantile) -> Difference:
    base, of = (Estimate(each["us"], each["low_us"], each["high_us"]) for each in (first, second))
    value, low, high = difference(of, base).rounded()
    return {"quantile": name, "us": value, "low_us": low, "high_us": high}
