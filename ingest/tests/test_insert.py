"""What the health of a process rests on: how long a block is being stored, while the store fails and while it hangs."""

import time
from threading import Event, Thread
from typing import Any, cast

import pytest
from quiclens_ingest.blocks import Block, Source
from quiclens_ingest.insert import Inserter
from quiclens_ingest.metrics import IngestMetrics
from quiclens_schema.store import StoreError


def test_a_store_that_hangs_is_noticed_as_one_that_fails_is(monkeypatch: pytest.MonkeyPatch) -> None:
    inserter = Inserter(cast("Any", None), cast("Any", None), "test", IngestMetrics())
    assert inserter.oldest_seconds() == 0
    answers = Event()
    tries: list[Block] = []

    def once(block: Block) -> None:
        tries.append(block)
        if len(tries) == 1:
            raise StoreError("away")
        answers.wait(30)

    monkeypatch.setattr(inserter, "_store_once", once)
    block = Block(Source("cluster", "topic", "events"), (), {}, 0, 0)
    thread = Thread(target=inserter.store_until_done, args=(block, Event()))
    thread.start()
    while len(tries) < 2:
        time.sleep(0.01)
    assert inserter.oldest_seconds() >= 0.2  # since before the failure, not since the second try
    answers.set()
    thread.join()
    assert inserter.oldest_seconds() == 0
