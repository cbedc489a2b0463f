"""The moments of a request and the stretches in which something held it up, as tables."""

from collections.abc import Mapping, Sequence
from typing import Any

from rich.table import Table
from rich.text import Text

from quiclens_command_line.show.tables import titled
from quiclens_questions.units import duration, milliseconds, size

_EPISODES_SHOWN = 15
# Columns of episodes; those with the largest number go first where a terminal has no room.
_RANKS = {"from ms": 0, "to ms": 6, "length": 0, "packet": 3, "bytes": 5, "count": 7, "detection": 4, "wait": 4}
_MARKS = (
    ("start_us", "start"),
    ("request_end_us", "request complete"),
    ("response_start_us", "response begins"),
    ("first_byte_us", "first byte"),
    ("last_byte_us", "last byte"),
    ("end_us", "end"),
)

Row = Mapping[str, Any]


def marks(stream: Row) -> Table:
    """Milliseconds since the start of the request, and since the mark before."""
    table = titled("Marks", cards_below=0)
    for name in ("mark", "at ms", "+ ms"):
        table.add_column(name, justify="right" if "ms" in name else "left", no_wrap=True)
    table.add_column("", no_wrap=True, rank=1)
    before = stream["start_us"]
    length = max(1, stream["end_us"] - stream["start_us"])
    for name, words in sorted(_MARKS, key=lambda mark: (stream[mark[0]] is None, stream[mark[0]] or 0)):
        at = stream[name]
        if at is None:
            table.add_row(Text(words, style="dim"), "–", "", Text("not in this log", style="dim"))
            continue
        place = round(40 * min(1.0, max(0.0, (at - stream["start_us"]) / length)))
        line = Text("─" * place + "●" + "─" * (40 - place), style="dim")
        note = {"start_us": stream["start_is"], "end_us": stream["end_is"]}.get(name, "")
        at_ms = milliseconds(at - stream["start_us"], 3)
        table.add_row(words + (f" ({note})" if note else ""), at_ms, milliseconds(at - before, 3), line)
        before = at
    return table


def episode_rows(found: Sequence[Row], all_of_them: int, start_us: int) -> Table:
    table = titled("Episodes", cards_below=0)
    table.add_column("kind", no_wrap=True)
    table.add_column("whose", no_wrap=True, rank=1)
    for name, rank in _RANKS.items():
        table.add_column(name, justify="right", no_wrap=True, rank=rank)
    table.add_column("seen by", no_wrap=True, rank=2)
    longest = sorted(found, key=lambda row: row["start_us"] - row["end_us"])[:_EPISODES_SHOWN]
    for row in sorted(longest, key=lambda row: (row["start_us"], row["first_seq"])):
        table.add_row(
            row["kind"],
            "connection" if row["stream_id"] < 0 else f"stream {row['stream_id']}",
            milliseconds(row["start_us"] - start_us),
            milliseconds(row["end_us"] - start_us),
            duration(row["end_us"] - row["start_us"]),
            str(row.get("packet_number", "")),
            size(row["bytes"]) if row["bytes"] else "",
            str(row["count"] or ""),
            duration(row["detection_us"]) if "detection_us" in row else "",
            duration(row["wait_us"]) if "wait_us" in row else "",
            row["trigger"],
        )
    if all_of_them > len(longest):
        of_first = f" of the first {len(found)}" if all_of_them > len(found) else ""
        table.caption = f"the longest {len(longest)}{of_first} of {all_of_them:,}"
        table.caption_justify = "left"
    return table
