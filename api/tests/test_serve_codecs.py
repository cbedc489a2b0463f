"""Compression both ways, bounded."""

import gzip
import random
import struct
import zlib
from typing import Any

import pytest

from quiclens_store_server import codecs
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


class Counted:
    """A decompressor that counts what it is given."""

    def __init__(self, inner: Any, given: list[int]) -> None:
        self._inner = inner
        self._given = given

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def decompress(self, data: bytes, most: int) -> bytes:
        self._given.append(len(data))
        return bytes(self._inner.decompress(data, most))


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("number", [1, 50, 5_000])
def test_the_work_grows_with_the_body_and_not_with_its_members_too(
    encoding: str, number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[int] = []
    make = codecs._DECOMPRESSORS[encoding]
    monkeypatch.setitem(codecs._DECOMPRESSORS, encoding, lambda: Counted(make(), given))
    made = encoder(encoding)
    empty = (made.add(b"") + made.end()) * number
    last = encoder(encoding)
    packed = empty + last.add(DATA) + last.end()
    assert decoded(packed, encoding, len(DATA), ignore) == DATA
    assert sum(given) <= 4 * len(packed) + 64 * (number + 1) and len(given) <= 2 * number + 60


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_a_body_of_more_members_than_anybody_sends_is_refused(encoding: str) -> None:
    made = encoder(encoding)
    empty = made.add(b"") + made.end()
    assert decoded(empty * 1_000, encoding, 10, ignore) == b""
    with pytest.raises(Fault, match="65,536 members") as caught:
        decoded(empty * (codecs.MEMBERS_AT_MOST + 1), encoding, 10, ignore)
    assert caught.value.status == 400


def test_more_frames_than_anybody_sends_are_refused() -> None:
    empty = framer("LZ4").add(b"x")
    assert unframed(empty * 1_000, 1_000, ignore) == b"x" * 1_000
    with pytest.raises(Fault, match="65,536 compressed frames"):
        unframed(empty * (codecs.MEMBERS_AT_MOST + 1), 1 << 20, ignore)


def frame(method: int, stated: int, inside: bytes) -> bytes:
    body = struct.pack("<BII", method, 9 + len(inside), stated) + inside
    return codecs._checksum(body) + body


@pytest.mark.parametrize("method", [0x82, 0x90, 0x02])
def test_a_frames_data_are_held_before_they_are_made(method: int, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(size: int) -> None:
        raise Fault(202, "TOO_MANY_SIMULTANEOUS_QUERIES", f"{size} bytes", 503)

    def made(*_: object) -> bytes:
        raise AssertionError("decompressed before it was held")

    monkeypatch.setattr(codecs, "_inside", made)
    with pytest.raises(Fault, match="1000000 bytes"):
        unframed(frame(method, 1_000_000, b"x" * 100), 1 << 30, refuse)


@pytest.mark.parametrize("method", [0x82, 0x90, 0x02])
def test_a_frame_that_says_to_be_larger_than_any_is_refused_unread(method: int) -> None:
    grown: list[int] = []
    with pytest.raises(Fault, match="more than 16,777,216 bytes"):
        unframed(frame(method, codecs.FRAME_BYTES_AT_MOST + 1, b"x"), 1 << 30, grown.append)
    largest = frame(0x02, 1_000, bytes(1_000))
    assert len(unframed(largest, 1_000, grown.append)) == 1_000 and grown == [1_000]


def test_frames_are_held_to_the_limit_all_together() -> None:
    packed = framer("LZ4").add(bytes(3_000_000))
    grown: list[int] = []
    with pytest.raises(Fault) as caught:
        unframed(packed, 2_500_000, grown.append)
    assert caught.value.status == 413 and sum(grown) <= 2_500_000
