"""What a qvis that is served from our own address asks for: the traces of its address bar, in one file.

qvis loads a single `file=` straight from its address; `file1=…&file2=…`, and whatever it could not load, it asks of
`/loadfiles` where it is served, with the same words (quiclog/qvis, ConnectionStore.loadFilesFromServer).
"""

import json
import re
from collections.abc import Iterator
from contextlib import closing
from typing import IO, Annotated, Any
from urllib.parse import unquote

from fastapi import APIRouter, Depends, Request
from quiclens_schema.store import Store
from starlette.responses import StreamingResponse

from quiclens_questions.failure import usage
from quiclens_web.api.answering import QuestionRunner, asking
from quiclens_web.api.exports import Draft
from quiclens_web.api.routes_files import export_as, exporting
from quiclens_web.api.strict import ANY_QUERY, StrictRoute
from quiclens_web.front import foreign

router = APIRouter(route_class=StrictRoute, tags=["traces"])

_FILE = re.compile(r"file\d{0,2}|list")
_OURS = re.compile(r"/connections/(.{1,3000})\.(?:sqlog|qlog)")
_MOST = 10
_RECORD = b"\x1e"
_LOOKED_AT = 1_000  # records after which the merged file's size is told


@router.get(
    "/loadfiles", summary="Several connections as one qlog, for a qvis served here", openapi_extra={ANY_QUERY: True}
)
async def load_files(request: Request, app: Annotated[QuestionRunner, Depends(asking)]) -> StreamingResponse:
    """`?file1=URL&file2=URL`, each the address of a connection's `.sqlog` here. One qlog file with a trace of each.
    Nothing is fetched: of an address only the connection's id is taken."""
    named = [_connection(value) for name, value in request.query_params.multi_items() if _FILE.fullmatch(name)]
    wanted = list(dict.fromkeys(named))
    if not named or len(named) > _MOST:
        raise usage(f"{len(named)} files are named", f"file1=/connections/ID.sqlog and so on, {_MOST} at most")
    async with exporting(request) as mine:

        def exported(store: Store) -> Draft:
            merged = mine.draft()
            _merge((export_as(store, mine, connection_id, "sqlog") for connection_id in wanted), merged)
            return merged

        merged = await app.run(exported)
    return StreamingResponse(merged.pieces(), media_type="application/json")


def _connection(address: str) -> str:
    read = foreign.address(address)
    if read is not None and (match := _OURS.fullmatch(read.path)):
        return unquote(match[1])
    raise usage(
        f"{address[:100]!r} is no connection of ours", "file1=/connections/ID.sqlog, as /connections/ID links it"
    )


def _merge(drafts: Iterator[Draft], merged: Draft) -> None:
    """JSON-SEQ files as the traces of one JSON file, without holding their events in memory."""
    target = merged.file
    for place, draft in enumerate(drafts):
        with closing(draft):
            draft.file.seek(0)
            records = _records(draft.file)
            header: dict[str, Any] = json.loads(next(records))
            if place == 0:
                root = {"qlog_version": header["qlog_version"], "qlog_format": "JSON", "title": "quiclens"}
                target.write(b'{"qlog":' + json.dumps(root).encode()[:-1] + b',"traces":[')
            trace = json.dumps(header["trace"]).encode()
            target.write((b"," if place else b"") + trace[:-1] + (b"," if len(trace) > 2 else b"") + b'"events":[')
            for number, record in enumerate(records):
                target.write((b"," if number else b"") + record)
                if number % _LOOKED_AT == 0:
                    merged.holds(target.tell())
            target.write(b"]}")
    target.write(b"]}}")
    merged.holds(target.tell())


def _records(draft: IO[bytes]) -> Iterator[bytes]:
    return (line.strip(_RECORD + b"\n") for line in draft if line.strip(_RECORD + b"\n"))
