"""The log of `serve`: one fault that somebody makes again and again fills no disk, and is counted."""

import logging

from quiclens_web.front.logs import RateLimit


def record(text: str, *values: object, logger: str = "quiclens.serve") -> logging.LogRecord:
    return logging.LogRecord(logger, logging.ERROR, "x.py", 1, text, values, None)


def test_records_of_one_kind_are_limited_and_the_next_says_how_many_were_left_out() -> None:
    now = 0.0
    limit = RateLimit(3, 60, lambda: now)
    let = [limit.filter(record("%s failed", f"/a/{number}")) for number in range(10)]
    assert let == [True] * 3 + [False] * 7
    assert limit.filter(record("another %s", "kind"))
    assert limit.filter(record("%s failed", "/a", logger="quiclens.ingest"))
    now = 61.0
    after = record("%s failed", "/a/11")
    assert limit.filter(after)
    assert after.getMessage() == "/a/11 failed (7 like this were left out)"
    again = record("%s failed", "/a/12")
    assert limit.filter(again)
    assert again.getMessage() == "/a/12 failed"
