"""The former names, until the last module that uses them has changed."""

from quiclens_api.serve.concurrency import ConcurrencyLimit as Turns
from quiclens_api.serve.memory import Lease
from quiclens_api.serve.memory import MemoryBudget as Room

__all__ = ["Lease", "Room", "Turns"]
