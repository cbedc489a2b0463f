"""Reading a request's body: bounded, given up when the client stalls, decompressed in a thread."""

import asyncio
import codecs
from collections.abc import AsyncGenerator, Callable
from io import BytesIO

from starlette.datastructures import UploadFile
from starlette.exceptions import HTTPException
from starlette.formparsers import MultiPartException, MultiPartParser
from starlette.requests import ClientDisconnect, Request

from quiclens_store_server.codecs import decoded, unframed
from quiclens_web.front import foreign
from quiclens_web.front.faults import Fault, too_large
from quiclens_web.front.memory import MemoryLease
from quiclens_web.front.settings import StatementLimits

_FIELDS = 1000
_FIELD_BYTES = 128 << 10  # as ClickHouse has it: http_max_field_value_size
_FORM_BYTES = 8 << 20
_IN_LOOP_BYTES = 65_536  # smaller bodies are decompressed at once


async def received(request: Request, most: int, stall_seconds: float, lease: MemoryLease) -> bytes:
    """The body as it came; Fault when it is larger than `most` or too slow, ClientDisconnect when it is cut."""
    if foreign.declared_bytes(request.headers) > most:
        raise too_large(most)
    body = BytesIO()  # gives its bytes away without a copy
    size = 0
    stream = request.stream()
    while True:
        try:
            chunk = await asyncio.wait_for(anext(stream), stall_seconds)
        except StopAsyncIteration:
            break
        except TimeoutError:
            raise Fault(209, "SOCKET_TIMEOUT", "The body stopped coming") from None
        size += len(chunk)
        if size > most:
            raise too_large(most)
        if chunk:
            lease.grow(len(chunk))
            body.write(chunk)
    return body.getvalue()


async def plain(data: bytes, encoding: str, is_framed: bool, most: int, lease: MemoryLease) -> bytes:
    """The body without its content encoding, then without ClickHouse's frames; Fault when it is larger than `most`."""
    steps: list[Callable[[bytes], bytes]] = []
    for name in reversed([each.strip().lower() for each in encoding.split(",") if each.strip()]):
        if name != "identity":
            steps.append(lambda body, name=name: decoded(body, name, most, lease.grow))  # type: ignore[misc]
    if len(steps) > 2:
        raise Fault(36, "BAD_ARGUMENTS", "More than two content encodings")
    if is_framed:
        steps.append(lambda body: unframed(body, most, lease.grow))
    for step in steps if data else ():
        data = step(data) if len(data) < _IN_LOOP_BYTES else await asyncio.to_thread(step, data)
    return data


async def form(request: Request, limits: StatementLimits, lease: MemoryLease) -> list[tuple[str, str]]:
    """Parameters in a multipart body, up to 128 KiB each and 8 MiB together; Fault for a file in it, since external
    tables are not served."""
    if request.headers.get("content-encoding", "identity") != "identity":
        raise Fault(36, "BAD_ARGUMENTS", "A form's parameters may not be compressed")
    if not foreign.is_of_known_charset(request.headers["content-type"]):
        raise _other_charset()
    try:
        parser = MultiPartParser(
            request.headers,
            _counted(request.stream(), lease),
            max_files=0,
            max_fields=_FIELDS,
            max_part_size=_FIELD_BYTES,
        )
        found = await asyncio.wait_for(parser.parse(), limits.stall_seconds)
    except MultiPartException as error:
        raise Fault(36, "BAD_ARGUMENTS", f"The form cannot be read: {error.message}") from error
    except (HTTPException, KeyError) as error:
        raise Fault(36, "BAD_ARGUMENTS", "The form cannot be read") from error
    except TimeoutError:
        raise Fault(209, "SOCKET_TIMEOUT", "The body stopped coming") from None
    return [(name, value) for name, value in found.multi_items() if not isinstance(value, UploadFile)]


def _other_charset() -> Fault:
    return Fault(36, "BAD_ARGUMENTS", "A form's parameters are in UTF-8")


async def _counted(stream: AsyncGenerator[bytes, None], lease: MemoryLease) -> AsyncGenerator[bytes, None]:
    size, text = 0, codecs.getincrementaldecoder("utf-8")()
    async for chunk in stream:
        size += len(chunk)
        if size > _FORM_BYTES:
            raise too_large(_FORM_BYTES)
        try:
            text.decode(chunk)
        except UnicodeDecodeError:  # the parser would read it as Latin-1
            raise _other_charset() from None
        lease.grow(len(chunk))
        yield chunk


__all__ = ["ClientDisconnect", "form", "plain", "received"]
