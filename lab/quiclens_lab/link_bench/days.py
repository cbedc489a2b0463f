"""Days of requests behind a bench's own day, linked."""

import time
from datetime import date, timedelta
from pathlib import Path

from quiclens_ingest.link import link
from quiclens_ingest.linking import remember_all
from quiclens_schema.store import Store

from quiclens_lab.link_bench.rows import REQUESTS_EACH, Rows
from quiclens_lab.progress import say
from quiclens_lab.resting import rest

SOURCES = (Path(__file__), Path(__file__).with_name("rows.py"))
"""What the rows of these days are made of."""


def fill(store: Store, today: date, days: int, a_day: int) -> None:
    """Insert so many requests, lines and streams for each of so many days before `today`, link them, and rest."""
    begun = time.monotonic()
    for ago in range(days, 0, -1):
        day = today - timedelta(days=ago)
        Rows(day, a_day // REQUESTS_EACH, ago, 0.0, 86_380.0).insert(store)
        link(store, [day])
        say(f"{day} is filled and linked, {time.monotonic() - begun:.0f} s")
    remember_all(store)
    rest(store, say)
