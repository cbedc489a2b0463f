"""Compression of bodies: HTTP content encodings and ClickHouse's own frames, each with a bound on what comes out."""

import struct
import sys
import zlib
from collections.abc import Callable, Iterator
from io import BytesIO
from typing import Any, Protocol

import lz4.block
import lz4.frame
from clickhouse_cityhash.cityhash import CityHash128

from quiclens_web.front.faults import Fault, too_large

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

Grow = Callable[[int], None]

MEMBERS_AT_MOST = 65_536
"""Of one body: gzip members, or frames of zstd, lz4 or ClickHouse. Each costs work, also where nothing is in it."""
FRAME_BYTES_AT_MOST = 16 << 20
"""Of the data in one of ClickHouse's frames: its programs fill them with 1 MiB, clickhouse-go with 10 MiB at most."""
_STEP = 4 << 20  # bytes taken out of a decompressor at a time
_FED_FIRST, _FED_AT_MOST = 64, 256 << 10  # bytes given to a decompressor at a time, twice as many each time
_WINDOW_LOG_MAX = 23  # 8 MiB, the most that a body of HTTP may need (RFC 9659, 3)
_FRAME_HEADER = struct.Struct("<BII")  # method, size with this header, size decompressed
_CHECKSUM_BYTES = 16
_LZ4, _ZSTD, _NONE = 0x82, 0x90, 0x02
_FRAME_DATA = 1 << 20  # bytes of data in a frame that we write, as ClickHouse's max_compress_block_size


class Encoder(Protocol):
    """Compresses an answer piece by piece."""

    def add(self, data: bytes) -> bytes: ...

    def end(self) -> bytes: ...


def decoded(data: bytes, encoding: str, limit: int, grow: Grow) -> bytes:
    """A body without its content encoding; Fault when it is unknown, broken or larger than `limit`.

    `grow` is told of every piece that comes out, before the next, and may refuse.
    """
    make = _DECOMPRESSORS.get(encoding)
    if make is None:
        raise Fault(40, "UNKNOWN_COMPRESSION_METHOD", f"Unknown Content-Encoding {encoding!r}", 400)
    try:
        return _all(_pieces(make, data), limit, grow)
    except (zlib.error, zstd.ZstdError, RuntimeError, EOFError) as error:
        raise _broken(f"the body is no {encoding}: {error}") from error


def unframed(data: bytes, limit: int, grow: Grow) -> bytes:
    """The data in ClickHouse's compressed frames, checksums compared. `grow` is told of each frame's data before they
    are made, and may refuse."""
    found = BytesIO()
    for piece in _frames(data, limit, grow):
        found.write(piece)
    return found.getvalue()


def encoder(encoding: str) -> Encoder:
    """What compresses an answer with a content encoding of `ENCODINGS`."""
    return _ENCODERS[encoding]()


def framer(method: str) -> Encoder:
    """What writes ClickHouse's compressed frames, lz4 unless zstd is asked for."""
    return _Framer(_ZSTD if method.upper() == "ZSTD" else _LZ4)


def _all(pieces: Iterator[bytes], limit: int, grow: Grow) -> bytes:
    found = BytesIO()  # gives its bytes away without a copy
    size = 0
    for piece in pieces:
        size += len(piece)
        if size > limit:
            raise too_large(limit)
        grow(len(piece))
        found.write(piece)
    return found.getvalue()


def _pieces(make: Callable[[], Any], data: bytes) -> Iterator[bytes]:
    """Decompress every member of `data`, a step at a time, so that no piece is large.

    A decompressor copies what it was given and did not need. So it is given little at first: what all of them copy
    grows with the body, and not with the body and the number of its members.
    """
    view, at = memoryview(data), 0
    for _ in range(MEMBERS_AT_MOST):
        if at == len(view):
            return
        member, start, size = make(), at, _FED_FIRST
        fed: bytes | memoryview = b""
        piece, is_last = b"", False
        while not member.eof:
            if not fed and (not piece or getattr(member, "needs_input", True)):
                fed = view[at : at + size]
                at, size = at + len(fed), min(2 * size, _FED_AT_MOST)
                is_last = not fed
            piece = member.decompress(fed, _STEP)
            fed = getattr(member, "unconsumed_tail", b"")
            if piece:
                yield piece
            elif is_last and not fed and not member.eof:
                raise EOFError("it is cut")
        at -= len(member.unused_data or b"")
        if at <= start:
            raise EOFError("it goes on with other bytes")
    if at < len(view):
        raise EOFError(f"it has more than {MEMBERS_AT_MOST:,} members")


def _frames(data: bytes, limit: int, grow: Grow) -> Iterator[bytes]:
    view, at, total, count = memoryview(data), 0, 0, 0
    while at < len(view):
        count += 1
        if count > MEMBERS_AT_MOST:
            raise _broken(f"there are more than {MEMBERS_AT_MOST:,} compressed frames")
        start = at + _CHECKSUM_BYTES
        if start + _FRAME_HEADER.size > len(view):
            raise _broken("a compressed frame is cut")
        method, size, whole = _FRAME_HEADER.unpack_from(view, start)
        body = view[start : start + size]
        if size < _FRAME_HEADER.size or len(body) < size:
            raise _broken("a compressed frame is cut")
        total += whole
        if total > limit:
            raise too_large(limit)
        if whole > FRAME_BYTES_AT_MOST:
            raise _broken(f"a compressed frame has more than {FRAME_BYTES_AT_MOST:,} bytes of data")
        if _checksum(body) != bytes(view[at:start]):
            raise Fault(40, "CHECKSUM_DOESNT_MATCH", "Checksum of a compressed frame does not match", 400)
        grow(whole)
        yield _inside(method, body[_FRAME_HEADER.size :], whole)
        at = start + size


def _inside(method: int, body: memoryview, whole: int) -> bytes:
    try:
        if method == _LZ4:
            found = lz4.block.decompress(body, uncompressed_size=whole)
        elif method == _ZSTD:
            found = _zstd().decompress(body, whole + 1)
        elif method == _NONE:
            found = bytes(body) if len(body) == whole else b""
        else:
            raise Fault(89, "UNKNOWN_COMPRESSION_METHOD", f"Unknown method {method:#x} of a compressed frame", 400)
    except (lz4.block.LZ4BlockError, zstd.ZstdError, EOFError) as error:
        raise _broken(f"a compressed frame is broken: {error}") from error
    if len(found) != whole:
        raise _broken("a compressed frame has another size than it says")
    return bytes(found)


def _checksum(body: bytes | memoryview) -> bytes:
    number = int(CityHash128(body))
    return struct.pack("<QQ", number >> 64, number & (1 << 64) - 1)


def _broken(message: str) -> Fault:
    return Fault(271, "CANNOT_DECOMPRESS", f"Cannot decompress: {message}")


def _zstd() -> Any:
    return zstd.ZstdDecompressor(options={zstd.DecompressionParameter.window_log_max: _WINDOW_LOG_MAX})


class _Zlib:
    def __init__(self, bits: int) -> None:
        self._inner = zlib.compressobj(1, zlib.DEFLATED, bits)

    def add(self, data: bytes) -> bytes:
        return self._inner.compress(data)

    def end(self) -> bytes:
        return self._inner.flush()


class _Zstd:
    def __init__(self) -> None:
        self._inner = zstd.ZstdCompressor(level=1)

    def add(self, data: bytes) -> bytes:
        return self._inner.compress(data)

    def end(self) -> bytes:
        return self._inner.flush()


class _Lz4:
    def __init__(self) -> None:
        self._inner = lz4.frame.LZ4FrameCompressor()
        self._start: bytes = self._inner.begin()

    def add(self, data: bytes) -> bytes:
        start, self._start = self._start, b""
        return start + bytes(self._inner.compress(data))

    def end(self) -> bytes:
        return self._start + bytes(self._inner.flush())


class _Framer:
    def __init__(self, method: int) -> None:
        self._method = method

    def add(self, data: bytes) -> bytes:
        return b"".join(self._frame(data[at : at + _FRAME_DATA]) for at in range(0, len(data), _FRAME_DATA))

    def end(self) -> bytes:
        return b""

    def _frame(self, data: bytes) -> bytes:
        is_zstd = self._method == _ZSTD
        inside = zstd.compress(data, 1) if is_zstd else lz4.block.compress(data, store_size=False)
        body = _FRAME_HEADER.pack(self._method, _FRAME_HEADER.size + len(inside), len(data)) + inside
        return _checksum(body) + body


_DECOMPRESSORS: dict[str, Callable[[], Any]] = {
    "gzip": lambda: zlib.decompressobj(31),
    "deflate": lambda: zlib.decompressobj(15),
    "zstd": _zstd,
    "lz4": lz4.frame.LZ4FrameDecompressor,
}
_ENCODERS: dict[str, Callable[[], Encoder]] = {
    "zstd": _Zstd,
    "lz4": _Lz4,
    "gzip": lambda: _Zlib(31),
    "deflate": lambda: _Zlib(15),
}
ENCODINGS = tuple(_ENCODERS)
"""Content encodings of answers, best first."""
