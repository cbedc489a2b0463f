"""A question whose browser goes away is stopped, in the engine too."""

import socket
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from quiclens_schema import store as stores
from quiclens_schema.store import StoreError
from serve_process import Served, until
from test_serve_http import metric

from quiclens_web.api.stopping import GivenUp, StoppableStore

LONG = "SELECT count() FROM numbers(100000000000) WHERE sipHash64(number) = 1"


def test_a_stopped_question_ends_its_statements_and_begins_no_other(store_url: str) -> None:
    with stores.open(store_url) as store, ThreadPoolExecutor(2) as pool:
        question = StoppableStore(store)
        running = [pool.submit(question.query, LONG) for _ in range(2)]

        def are_running() -> bool:
            sql = "SELECT count() FROM system.processes WHERE startsWith(Settings['log_comment'], 'quiclens-question')"
            return bool(store.query(sql).one() == (2,))

        assert until(are_running)
        while not all(each.done() for each in running):
            question.stop()
            time.sleep(0.1)
        for each in running:
            with pytest.raises(StoreError, match="cancelled"):
                each.result()
        with pytest.raises(GivenUp):
            question.query("SELECT 1")
        assert store.query("SELECT 1").one() == (1,), "the others go on"


def test_a_browser_that_goes_away_is_counted_and_leaves_nothing_running(served: Served) -> None:
    """Questions about nothing are quick: the connection is closed before the answer can be."""
    before = metric(served, "quiclens_serve_questions_given_up_total")
    for _ in range(200):
        with socket.create_connection(("127.0.0.1", served.port)) as wire:
            wire.sendall(b"GET /api/v1/different HTTP/1.1\r\nHost: localhost\r\n\r\n")
            time.sleep(0.01)
        if metric(served, "quiclens_serve_questions_given_up_total") > before:
            break
    else:
        pytest.fail("no question was given up")
    assert until(lambda: metric(served, "quiclens_serve_running") == 0)
    assert served.ask(method="GET", path="/api/v1/requests").status == 200
