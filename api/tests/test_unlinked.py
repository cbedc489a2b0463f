"""A stream that is not linked yet is explained by the trace that linking will choose for it."""

from itertools import product
from pathlib import Path

from api_seed import connection, parts, stream
from quiclens_ingest.link import link
from quiclens_schema import store as stores
from store_rows import fill

from quiclens_questions.explain import explain

CAUSES = parts(network=40_000)
# Of a trace: whether it has its end, whether it saw the request end, how many events it has.
SEEN = tuple(product((False, True), (False, True), (10, 40)))
PAIRS = [(one, other) for one, other in product(SEEN, SEEN) if one != other]


def test_explain_and_link_choose_the_same_trace(tmp_path: Path) -> None:
    connections, streams = [], []
    for number, pair in enumerate(PAIRS):
        for trace, (is_complete, saw_end, events) in zip("12", pair, strict=True):
            name = {"connection_id": f"c{number:03}", "vantage": "server", "trace_id": f"{number:015}{trace}"}
            connections.append(connection(name, complete=is_complete, events_seen=events))
            streams.append(stream(name, 0, 100_000, CAUSES, complete=saw_end))
    fill(tmp_path / "store", {"connections": connections, "streams": streams})
    with stores.open(f"chdb:{tmp_path / 'store'}") as store:
        before = {name: explain(store, f"{name}/0") for name in _names()}
        assert not any(each.request for each in before.values()), "nothing is linked"
        chosen = {name: each.stream["trace_id"] for name, each in before.items() if each.stream}
        link(store)
        linked = dict(store.query("SELECT connection_id, trace_id FROM requests").rows)
    assert len(linked) == len(PAIRS) and chosen == linked
    assert {trace_id[-1] for trace_id in linked.values()} == {"1", "2"}


def _names() -> list[str]:
    return [f"c{number:03}" for number in range(len(PAIRS))]
