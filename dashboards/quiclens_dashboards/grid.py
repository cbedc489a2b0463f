"""The dashboard `Grid`: implementations side by side on paths that are alike."""

from grafana_foundation_sdk.builders import dashboard as builders
from grafana_foundation_sdk.builders import table

from quiclens_dashboards import look, pages, panels
from quiclens_dashboards.ask import choice

_SENTENCE = (
    "**Which implementation is quicker on the same kind of path?** Traced requests by the stack of their server, the "
    "least round trip and the loss of their connection; what they ask for differs, so choose a size."
)
_QUERIES = "grid"
_LEAST = {"any": "0", "1 kB": "1000", "10 kB": "10000", "100 kB": "100000", "1 MB": "1000000"}
_LARGEST = {"any": "1000000000000", "10 kB": "10000", "100 kB": "100000", "1 MB": "1000000", "10 MB": "10000000"}


def page() -> builders.Dashboard:
    return pages.page(
        "grid",
        "Grid",
        _SENTENCE,
        [panels.coverage(), completion(), samples(), cells()],
        [
            choice("least_bytes", "Responses of at least", "Bytes of the response, at least.", _LEAST, "any"),
            choice("most_bytes", "and at most", "Bytes of the response, at most.", _LARGEST, "any"),
        ],
    )


def completion() -> table.Panel:
    description = (
        "Median duration of complete requests, by implementation (rows) and by least RTT and packets lost of those "
        "sent (columns); empty below 4 requests."
    )
    return panels.matrix(
        "Median completion time",
        f"{_QUERIES}/completion",
        look.US,
        description,
        row="implementation",
        column="path",
        value="p50",
    )


def samples() -> table.Panel:
    description = "On how many requests each median above stands."
    return panels.matrix(
        "Requests",
        f"{_QUERIES}/samples",
        look.COUNT,
        description,
        row="implementation",
        column="path",
        value="measured",
        steps=look.PLAIN,
    )


def cells() -> table.Panel:
    description = "The same as a list, with connections, the middle response size and quantiles (p95 from 20 requests)."
    return panels.rows("Cells", f"{_QUERIES}/cells", description)
