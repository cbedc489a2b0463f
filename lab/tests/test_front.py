"""A slice of `quiclens-lab front`: sockets that hold connections, and large answers, beside pings and inserts."""

from quiclens_lab.command_line import parser
from quiclens_lab.front import ROWS, SOCKETS, front, output_formats


def test_pings_and_inserts_are_answered_beside_idle_sockets_and_large_answers() -> None:
    told: list[tuple[int, int]] = []
    document = front(600, 20_000, ["TabSeparated", "Native"], 5, False, lambda done, of: told.append((done, of)))
    assert document["passes"], document
    assert [what.partition(": ")[0] for what in document["left_out"]] == [
        "600 sockets of 2,000",
        "answers of 20,000 rows, not 500,000",
        "formats",
    ]
    assert document["sockets"]["opened"] >= 600 and document["sockets"]["closed_by_the_server"] > 0
    assert document["ping"]["answered"] > 10 and document["insert"]["answered"] > 3
    assert document["reads"]["TabSeparated"] == {
        "answers": {"200": 3},
        "bytes": document["reads"]["TabSeparated"]["bytes"],
    }
    assert document["reads"]["TabSeparated"]["bytes"] > 20_000 * 2_000
    assert told[-1] == (11, 11)


def test_every_format_that_the_engine_writes_is_asked_for() -> None:
    found = output_formats()
    assert {"JSON", "Parquet", "Native", "ArrowStream", "Vertical", "Pretty", "XML"} <= set(found) and len(found) > 50


def test_the_command_asks_for_the_whole_bar() -> None:
    options = parser().parse_args(["front"])
    assert (options.sockets, options.rows, options.formats) == (SOCKETS, ROWS, [])
