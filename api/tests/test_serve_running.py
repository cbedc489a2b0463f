"""Statements that run: one that nothing ends makes the process unwell, since its place is lost."""

import asyncio
from typing import Any, cast

import pytest

from quiclens_store_server import running
from quiclens_store_server.running import RunningRequests
from quiclens_web.front.access import Role


def test_a_statement_that_nothing_ends_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    async def ask() -> list[list[str]]:
        works = RunningRequests(cast(Any, None), 0.0)
        ended = asyncio.Event()
        gone = asyncio.create_task(asyncio.Event().wait())
        said = [list(works.unwell())]
        with works.one("a", Role.READER) as run:
            waiting = asyncio.create_task(works.watched(run, ended.wait(), cast(Any, gone)))
            await asyncio.sleep(0.01)
            said.append(list(works.unwell()))
            monkeypatch.setattr(running, "SPARE_SECONDS", 0.0)
            said.append(list(works.unwell()))
            ended.set()
            await waiting
        said.append(list(works.unwell()))
        gone.cancel()
        return said

    before, within, past, after = asyncio.run(ask())
    assert (before, within, after) == ([], [], [])
    assert past == ["a statement has run 0 s longer than it may, and nothing ends it"]
