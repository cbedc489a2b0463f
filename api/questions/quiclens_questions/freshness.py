"""How long data take to arrive, as a running `quiclens ingest` measures it by the collectors' heartbeats."""

import math
from collections import defaultdict
from http.client import HTTPException
from urllib.request import ProxyHandler, build_opener

from prometheus_client.parser import text_string_to_metric_families

_NAME = "quiclens_ingest_freshness"
_SECONDS = 5.0


class Unreachable(Exception):
    """Nothing at the address, or no ingest; one line for people."""


def freshness(address: str) -> dict[str, float | int | None]:
    """Of the process at HOST:PORT since it began: heartbeats, seconds of the last, and bounds of p50 and p99."""
    url = f"http://{address.removeprefix('http://').removesuffix('/metrics')}/metrics"
    try:
        with build_opener(ProxyHandler({})).open(url, timeout=_SECONDS) as answer:
            return read(answer.read().decode("utf-8", "replace"))
    except (OSError, HTTPException) as error:
        raise Unreachable(f"nothing answers at {url}: {getattr(error, 'reason', None) or error}") from error
    except ValueError as error:
        raise Unreachable(f"what answers at {url} is no ingest") from error


def read(text: str) -> dict[str, float | int | None]:
    """The same from the metrics' text; ValueError when it has none. A quantile, over all tables, is its histogram
    bucket's upper end; `last_s` is the slowest collector's."""
    families = [family for family in text_string_to_metric_families(text) if family.name.startswith(_NAME)]
    if not families:
        raise ValueError("no freshness")
    samples = [sample for family in families for sample in family.samples]
    counts = [int(each.value) for each in samples if each.name == f"{_NAME}_seconds_count"]
    last = [float(each.value) for each in samples if each.name == f"{_NAME}_last_seconds"]
    buckets: dict[float, float] = defaultdict(float)
    for each in samples:
        if each.name == f"{_NAME}_seconds_bucket":
            buckets[float(each.labels["le"])] += each.value

    def quantile(share: float) -> float | None:
        ends = [end for end, below in sorted(buckets.items()) if below >= share * sum(counts) and end != math.inf]
        return ends[0] if counts and ends else None

    return {
        "heartbeats": max(counts, default=0),
        "last_s": round(max(last), 3) if last else None,
        "p50_at_most_s": quantile(0.5),
        "p99_at_most_s": quantile(0.99),
    }
