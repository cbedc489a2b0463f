"""The distributions that intervals need, from scipy.special, which is imported when the first is asked for."""

import importlib
import math
from functools import cache, lru_cache
from types import ModuleType

# Every interval is a 95 % one: these two alone say so, but for that of a moment (`WITHIN` of changes.py).
Z95 = 1.959963984540054
BEYOND = 0.025  # the chance that what is estimated lies beyond one end


@cache
def _special() -> ModuleType:
    return importlib.import_module("scipy.special")


def student95(freedom: float) -> float:
    """The 97.5 % quantile of Student's t with `freedom` degrees, which need not be whole."""
    return float(_special().stdtrit(freedom, 1 - BEYOND))


def student_tails(value: float, freedom: float) -> float:
    """The chance of Student's t with `freedom` degrees beyond `value` on either side."""
    return 2 * float(_special().stdtr(freedom, -value))


def chi_square_tail(value: float, freedom: int) -> float:
    """The chance of at least this value with so many degrees of freedom, DLMF 8.2.4."""
    return float(_special().gammaincc(freedom / 2, value / 2))


def binomial_tail(hits: float, draws: float, share: float) -> float:
    """The chance of at least so many hits, which need not be whole: the regularized incomplete beta function
    I_share(hits, draws - hits + 1), DLMF 8.17.5."""
    if hits <= 0:
        return 1.0
    if hits > draws or share <= 0:
        return 0.0
    return float(_special().betainc(hits, draws - hits + 1, share)) if share < 1 else 1.0


def binomial_place(chance: float, draws: float, share: float) -> float:
    """Of so many hits or more, which need not be whole, the chance is 1 - `chance`: the inverse of `binomial_tail`."""
    return float(_special().bdtrik(chance, draws, share)) + 1


@lru_cache(maxsize=10_000)  # groups are compared with each other in more than one order
def hypergeometric_tail(hits: float, draws: float, marked: float, whole: float) -> float:
    """The chance of at least so many hits in `draws` of `whole`, of which `marked` are marked; no number need be whole.

    Terms follow each other by their ratio, until what is left no longer counts.
    """
    if hits <= max(0.0, draws + marked - whole):
        return 1.0
    if hits > min(draws, marked):
        return 0.0
    term = math.exp(_log_ways(draws, hits) + _log_ways(whole - draws, marked - hits) - _log_ways(whole, marked))
    total, at, most, others = term, hits, min(draws, marked) - 1, whole - draws - marked
    while at <= most and term >= 1e-12 * total:
        before, at = at, at + 1
        term *= (draws - before) * (marked - before) / (at * max(1e-9, others + at))
        total += term
    return min(1.0, total)


def _log_ways(of: float, chosen: float) -> float:
    return math.lgamma(of + 1) - math.lgamma(chosen + 1) - math.lgamma(of - chosen + 1)


def likeness_at(quantile: float, at_median: float) -> float:
    """The correlation of "lies beyond the quantile" of two samples of a cluster, where that of "lies beyond the median"
    is `at_median`, from 0 to below 1, and the samples have a Gaussian copula.

    At the median it is (2 / pi) asin(rho); the chance that both lie beyond is Owen's T function (Owen, Annals of
    Mathematical Statistics 27, 1956).
    """
    special = _special()
    beyond = float(special.ndtri(quantile))
    slope = float(special.tandg(45 * (1 - at_median)))  # sqrt((1 - rho) / (1 + rho))
    both = (1 - quantile) - 2 * float(special.owens_t(beyond, slope))
    return (both - (1 - quantile) ** 2) / (quantile * (1 - quantile))
