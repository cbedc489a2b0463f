"""What must be found of the rows that went through the socket: all that were synced, less what is counted as lost.

A flipped byte may cost its record, a full spool may be told to drop events: each is a reject with the run of seq that
it stands for, and nothing else may be missing.
"""

from dataclasses import dataclass, field
from typing import Any

from quiclens_lab.faults_compare import Content, Key, RowDifference
from quiclens_lab.faults_socket import Place, RowSender, place_of

CORRUPT, FULL = "spool_corrupt", "spool_full"
_OF_A_CONNECTION = ("events", "episodes", "streams", "requests")


@dataclass
class Lost:
    """Records that the store counts as lost in the spool."""

    corrupt: set[Place] = field(default_factory=set)
    dropped: set[Place] = field(default_factory=set)
    corrupt_records: int = 0
    keys: list[tuple[str, Key]] = field(default_factory=list)


def lost_in_spool(found: Content) -> Lost:
    """What the rejects say of the spool."""
    lost = Lost()
    connections = {
        key[3]: key[1] for rows in found.groups.values() for key in rows if key[0] == "connections"
    }  # key: table, connection_id, vantage, trace_id
    for group, rows in found.groups.items():
        for key, row in rows.items():
            if key[0] != "rejects" or row["reason"] not in (CORRUPT, FULL):
                continue
            connection_id = connections.get(row["trace_id"], "")
            places = {(connection_id, seq) for seq in range(row["seq"], _last(row) + 1)}
            (lost.corrupt if row["reason"] == CORRUPT else lost.dropped).update(places)
            lost.corrupt_records += row["reason"] == CORRUPT and bool(row["bytes"])
            lost.keys.append((group, key))
    return lost


def _last(row: dict[str, Any]) -> int:
    last = row.get("seq_last")
    return int(row["seq"] if last is None else last)


def rows_taken(sender: RowSender, found: Content, lost: Lost, with_shipped: bool = False) -> list[bytes]:
    """The rows that a plain reading must have: those that were synced, and others as far as they are there.

    `with_shipped` also those that had been shipped when their byte was flipped, and are counted as lost all the same.
    """
    stored = {(key[1], key[4]) for rows in found.groups.values() for key in rows if key[0] == "events"}
    there, gone = stored | lost.dropped, lost.corrupt - stored if with_shipped else lost.corrupt
    return [
        row
        for batch in sender.batches
        for row in batch.rows
        if (batch.is_synced or place_of(row) in there) and place_of(row) not in gone
    ]


def without_lost(found: Content, lost: Lost) -> None:
    """Take the spool's rejects out: they are judged by what they stand for."""
    for group, key in lost.keys:
        del found.groups[group][key]
        if not found.groups[group]:
            del found.groups[group]


def without_events(said: Content, places: set[Place]) -> None:
    """Take events out that the spool counts as lost. They may be there all the same: shipped before a byte was flipped,
    or before events were dropped, and not yet passed by a checkpoint."""
    for rows in said.groups.values():
        for key in [key for key in rows if key[0] == "events" and (key[1], key[4]) in places]:
            del rows[key]


def is_from_before(wrong: RowDifference, found: Content, before: Content) -> bool:
    """An event, an episode, a stream or its request that was shipped before a byte of one of its records was flipped;
    what came after does not replace it where it has another key: a connection without its first record is another
    trace. `before` is the reading of all rows that were shipped."""
    if wrong.key[0] not in _OF_A_CONNECTION or wrong.what not in ("extra", "changed"):
        return False
    if wrong.key[0] == "events" and wrong.what != "extra":
        return False
    return any(
        _unversioned(rows[wrong.key]) == _unversioned(before.groups.get(group, {}).get(wrong.key, {}))
        for group, rows in found.groups.items()
        if wrong.key in rows
    )


def _unversioned(row: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if name != "version"}


def unexplained(sender: RowSender, lost: Lost, flips: int, drops_events: bool) -> list[RowDifference]:
    """Records that are counted as lost although nobody struck at them."""
    sent = {place_of(row) for batch in sender.batches for row in batch.rows}
    wrong = [RowDifference("never sent", ("rejects", *place)) for place in (lost.corrupt | lost.dropped) - sent]
    if lost.corrupt_records > flips:
        wrong.append(RowDifference(f"{lost.corrupt_records} corrupt records of {flips} flips", ("rejects", CORRUPT)))
    if lost.dropped and not drops_events:
        wrong.append(RowDifference("dropped", ("rejects", FULL, len(lost.dropped))))
    return wrong
