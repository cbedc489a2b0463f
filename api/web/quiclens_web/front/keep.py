"""How long rows are kept; of commands that serve nothing, too."""

from dataclasses import dataclass

from pydantic import ConfigDict

GB = 1_000_000_000
MB = 1_000_000


@dataclass(frozen=True, slots=True)
class Keep:
    """How long rows are kept and how much room they may take; 0 is for ever, without bound."""

    __pydantic_config__ = ConfigDict(extra="forbid")

    events_days: float = 7
    summaries_days: float = 90
    disk_bytes: int = 0
    every_seconds: float = 600
