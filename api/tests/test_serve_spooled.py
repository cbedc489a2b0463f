"""An answer whose beginning waits: whole when it ends soon, else all of it in order, and never more than allowed."""

import asyncio
from collections.abc import Sequence

import pytest

from quiclens_store_server import spooled
from quiclens_store_server.spooled import SpooledAnswer
from quiclens_web.front.faults import Fault


def answer_of(pieces: Sequence[bytes], most: int = 1 << 30) -> SpooledAnswer:
    left = iter(pieces)

    async def next_piece() -> bytes | None:
        return next(left, None)

    return SpooledAnswer(next_piece, most)


# A piece of which nothing belongs into the answer is not its end.
PIECES = (b"abc", b"", b"def", b"g" * 10, b"", b"h")


@pytest.mark.parametrize("least", [None, 0, 1, 3, 4, 6, 7, 100])
def test_all_of_it_is_given_in_order_wherever_it_waited(least: int | None) -> None:
    async def read() -> tuple[bytes, bool]:
        with answer_of(PIECES) as answer:
            await answer.wait(least)
            waited = answer.is_ended
            assert answer.size >= min(least or 0, 17)
            return b"".join([piece async for piece in answer.rest()]), waited

    found, has_ended = asyncio.run(read())
    assert found == b"".join(PIECES)
    assert has_ended == (least in (None, 100))


def test_an_answer_that_has_ended_is_given_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spooled, "IN_MEMORY_BYTES", 4)  # the rest in a file

    async def read() -> bytes:
        with answer_of(PIECES) as answer:
            await answer.wait(None)
            assert answer.is_ended
            return answer.whole()

    assert asyncio.run(read()) == b"".join(PIECES)


def test_an_answer_of_more_than_is_allowed_is_refused_while_it_waits_and_later() -> None:
    async def read(least: int | None) -> None:
        with answer_of(PIECES, 16) as answer:
            await answer.wait(least)
            async for _ in answer.rest():
                pass

    for least in (None, 1):
        with pytest.raises(Fault, match="max bytes: 16"):
            asyncio.run(read(least))
