"""What `serve` was told: addresses, who may do what, limits, and how long to keep things."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

from quiclens_web.front.access import Access
from quiclens_web.front.connections import ConnectionLimits
from quiclens_web.front.keep import GB, MB, Keep


@dataclass(frozen=True, slots=True)
class StatementLimits:
    """Bounds of one request and of all together; a request may ask for less, never for more."""

    seconds: float = 300  # of a query
    memory_bytes: int = 1 * GB  # of all statements in the engine; one may have a share of it, and ask for less
    block_rows: int = 16_384  # of a block in the engine: a piece of an answer is the text of one
    result_rows: int = 50_000_000
    result_bytes: int = 4 * GB
    spill_bytes: int = 20 * GB  # of one statement's sorts and groups on disk
    upload_bytes: int = 512 * MB  # of one body, decompressed
    text_bytes: int = 1 << 20  # of a statement, decompressed; the engine itself takes 256 KiB
    held_bytes: int = 1 * GB  # of all bodies, forms and answers held at one time
    queries_at_once: int = 4
    judged_at_once: int = 4  # large statements, before they run
    whole_at_once: int = 2  # of those, answers in formats that are written once all rows are known
    whole_bytes: int = 32 * MB  # of the rows of such an answer
    inserts_at_once: int = 4
    wait_seconds: float = 5  # for a place, then 429
    stall_seconds: float = 120  # without a byte read or sent, then the request is given up
    drain_seconds: float = 30  # for running requests when serve stops
    connections: ConnectionLimits = field(default_factory=ConnectionLimits)

    @property
    def statement_bytes(self) -> int:
        """The memory of one statement in the engine."""
        return self.memory_bytes // self.queries_at_once

    def of_owner(self) -> "StatementLimits":
        """For the store's own user, whose questions may be large, as those of `quiclens` are."""
        return replace(self, memory_bytes=self.queries_at_once * max(self.statement_bytes, 4 * GB), block_rows=65_409)


@dataclass(frozen=True, slots=True)
class ServeSettings:
    """All that the app needs."""

    folder: Path  # of the open store
    instance: str  # what /ping answers with
    has_sql: bool = True  # SQL that reads is answered to everybody who may read, not to the store's own user alone
    access: Access = field(default_factory=Access)
    audit: Callable[[str], None] = lambda _: None  # hears who asked what, or was refused, one JSON line a request
    limits: StatementLimits = field(default_factory=StatementLimits)
    keep: Keep = field(default_factory=Keep)
    expected: tuple[str, ...] = ()  # servers that must send
    redacts_uploads: bool = True  # traces that come over the web, as collectors redact on servers
