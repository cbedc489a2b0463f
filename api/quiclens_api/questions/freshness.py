"""How long data take to arrive, as a running `quiclens ingest` measures it by the collectors' heartbeats."""

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
    """The same from the metrics' text; ValueError when it has none. A quantile is its histogram bucket's upper end."""
    found = {
        (sample.name, sample.labels.get("le", "")): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if sample.name.startswith(_NAME)
    }
    if (f"{_NAME}_seconds_count", "") not in found:
        raise ValueError("no freshness")
    count = int(found[f"{_NAME}_seconds_count", ""])
    buckets = sorted((float(le), value) for (name, le), value in found.items() if name == f"{_NAME}_seconds_bucket")

    def quantile(share: float) -> float | None:
        ends = [end for end, below in buckets if below >= share * count and end != float("inf")]
        return ends[0] if count and ends else None

    return {
        "heartbeats": count,
        "last_s": round(found[f"{_NAME}_last_seconds", ""], 3) if count else None,
        "p50_at_most_s": quantile(0.5),
        "p99_at_most_s": quantile(0.99),
    }
