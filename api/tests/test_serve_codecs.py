"""Compression both ways, bounded."""

import gzip
import random
import zlib

import pytest

from quiclens_store_server.codecs import ENCODINGS, decoded, encoder, framer, unframed
from quiclens_web.front.faults import Fault

DATA = random.Random(1).randbytes(3_000_000) + bytes(2_000_000)


def ignore(_: int) -> None:
    return


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("data", [b"", b"x", DATA], ids=["empty", "byte", "5 MB"])
def test_what_was_encoded_is_decoded(encoding: str, data: bytes) -> None:
    made = encoder(encoding)
    packed = made.add(data[:10]) + made.add(data[10:]) + made.end()
    assert decoded(packed, encoding, len(data), ignore) == data
    assert decoded(packed + packed, encoding, 2 * len(data), ignore) == data + data
    if len(data) > 1:
        for broken in (packed[:-1], packed[: len(packed) // 2], packed + b"junk", b"junk" + packed):
            with pytest.raises(Fault) as caught:
                decoded(broken, encoding, len(data) + 10, ignore)
            assert caught.value.code == 271


@pytest.mark.parametrize("method", ["LZ4", "ZSTD"])
def test_frames_are_read_and_their_checksums_compared(method: str) -> None:
    packed = framer(method).add(DATA)
    assert unframed(packed, len(DATA), ignore) == DATA
    for place in (0, 16, 20, 30, len(packed) - 1):
        broken = bytearray(packed)
        broken[place] ^= 1
        with pytest.raises(Fault):
            unframed(bytes(broken), len(DATA), ignore)


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_a_bomb_stops_at_the_limit(encoding: str) -> None:
    made = encoder(encoding)
    bomb = b"".join(made.add(bytes(10_000_000)) for _ in range(20)) + made.end()
    grown: list[int] = []
    with pytest.raises(Fault) as caught:
        decoded(bomb, encoding, 1_000_000, grown.append)
    assert caught.value.status == 413 and sum(grown) <= 1_000_000


def test_zlib_and_gzip_of_others_are_read() -> None:
    assert decoded(gzip.compress(DATA), "gzip", len(DATA), ignore) == DATA
    assert decoded(zlib.compress(DATA), "deflate", len(DATA), ignore) == DATA
