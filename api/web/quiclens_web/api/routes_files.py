"""Traces in and out: qlog of a connection for qvis and other tools, and the upload of a trace."""

import os
import re
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path as FilePath
from tempfile import TemporaryDirectory
from typing import Annotated
from urllib.parse import quote

from fastapi import APIRouter, Depends, Path, Query, Request
from quiclens_ingest.load import LoadError, command
from quiclens_schema.store import Store
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response, StreamingResponse

from quiclens_questions import collector, documents
from quiclens_questions.client_secret import client_secret
from quiclens_questions.document import document_text
from quiclens_questions.export import ExportRequest, chosen, export_watched
from quiclens_questions.failure import CannotRun, usage
from quiclens_web.api.answering import NotFound, QuestionRunner, asking
from quiclens_web.api.exports import Draft, Export, Exports
from quiclens_web.api.strict import StrictRoute
from quiclens_web.api.uploads import Upload, Uploads
from quiclens_web.front.access import Role, visitor_of
from quiclens_web.front.problems import Stopped

router = APIRouter(route_class=StrictRoute, tags=["traces"])

App = Annotated[QuestionRunner, Depends(asking)]
Name = Annotated[str, Path(max_length=300, description="Of the connection: any id that it used.")]
Vantage = Annotated[str, Query(max_length=16, description="Whose trace: `server`, `client` or `network`.")]
TraceId = Annotated[str, Query(max_length=32, description="Of several traces, this one.")]
_SQLOG, _QLOG = "application/qlog+json-seq", "application/qlog+json"
_MODES = {"sqlog": "for-qvis", "qlog": "as-is"}
UPLOAD = "/api/v1/traces"
_UNSAFE = re.compile(r"[^A-Za-z0-9_.-]")
_NAME = 200  # of an uploaded file, for people


@router.get(
    "/connections/{connection_id:path}.sqlog",
    summary="A connection as qlog for qvis",
    response_class=StreamingResponse,
    responses={200: {"content": {_SQLOG: {}}}},
)
async def for_qvis(
    request: Request, app: App, connection_id: Name, vantage: Vantage = "", trace_id: TraceId = ""
) -> Response:
    """JSON-SEQ that every view of qvis takes."""
    return await _file(request, app, _SQLOG, connection_id, "sqlog", vantage, trace_id)


@router.get(
    "/connections/{connection_id:path}.qlog",
    summary="A connection as it was logged",
    response_class=StreamingResponse,
    responses={200: {"content": {_QLOG: {}}}},
)
async def as_logged(
    request: Request, app: App, connection_id: Name, vantage: Vantage = "", trace_id: TraceId = ""
) -> Response:
    """Every record with the fields and values that the server wrote, as JSON."""
    return await _file(request, app, _QLOG, connection_id, "qlog", vantage, trace_id)


async def _file(
    request: Request, app: QuestionRunner, kind: str, connection_id: str, form: str, vantage: str, trace_id: str
) -> Response:
    async with exporting(request) as mine:
        draft = await app.run(lambda store: export_as(store, mine, connection_id, form, vantage, trace_id))
    headers = {"Content-Disposition": _disposition(f"{os.path.basename(connection_id) or 'connection'}.{form}")}
    return StreamingResponse(draft.pieces(), media_type=kind, headers=headers)


def exporting(request: Request) -> AbstractAsyncContextManager[Export]:
    """An export of whoever asks."""
    exports: Exports = request.app.state.exports
    return exports.of(visitor_of(request).crowd)


def _disposition(name: str) -> str:
    """The name of a file as RFC 6266 has it: in ASCII for old clients, whole in UTF-8 for all others."""
    return f"inline; filename=\"{_plain(name)}\"; filename*=UTF-8''{quote(name, safe='')}"


def export_as(
    store: Store, mine: Export, connection_id: str, form: str, vantage: str = "", trace_id: str = ""
) -> Draft:
    """A connection's trace in a file without a name; NotFound when there is none."""
    wanted = ExportRequest(connection_id, form, _MODES[form], None, vantage, trace_id)
    trace = chosen(store, wanted)
    if trace is None:
        raise NotFound(f"there is no trace of connection {wanted.connection_id!r}", "ids are those of /api/v1/requests")
    draft = mine.draft()
    export_watched(store, wanted, trace, draft.file, draft.holds)
    return draft


@router.post(
    UPLOAD,
    summary="Load a trace",
    status_code=201,
    response_model=documents.LoadedDocument,
    operation_id="upload_trace",
)
async def uploaded(
    request: Request,
    app: App,
    name: Annotated[str, Query(max_length=_NAME, description="The file's name, for people.")] = "upload",
) -> Response:
    """The body is one file: qlog in any dialect, QUIC_TRACE or line v1; plain, gzip or zstd. It is streamed to disk and
    read as `quiclens load --redact` reads it, unless `serve` was told to keep uploads as they are. The document is that
    of `load`, with the connections found; 422 when no event was found in it."""
    visitor = visitor_of(request)
    if visitor.role is Role.READER:
        raise Stopped("not_let_in", "a reader may not load", "use the token of a writer or of an uploader")
    uploads: Uploads = request.app.state.uploads
    async with uploads.of(visitor.crowd) as upload:
        with TemporaryDirectory(prefix="quiclens-upload-") as folder:
            path = FilePath(folder) / (_plain(name) or "upload")
            await _received(request.stream(), path, app.settings.limits.upload_bytes, upload.hold)
            return await _loaded(app, request, upload, path, visitor.role)


async def _received(stream: AsyncIterator[bytes], path: FilePath, most: int, hold: Callable[[int], None]) -> None:
    size = 0
    with path.open("wb") as file:
        async for piece in stream:
            size += len(piece)
            if size > most:
                hint = "quiclens load reads files of any size"
                raise Stopped("too_large", f"the file is larger than {most:,} bytes", hint)
            hold(len(piece))
            await run_in_threadpool(file.write, piece)
    if size == 0:
        raise usage("the body is empty", "send the file itself: curl --data-binary @FILE")


async def _loaded(app: QuestionRunner, request: Request, upload: Upload, path: FilePath, role: Role) -> Response:
    try:
        with client_secret(app.settings.store) as secret:
            words = command(collector.find(), [path], [], None, secret, redact=app.settings.redacts_uploads)
            summary = await upload.load(request, app.settings.store, words)
    except LoadError as error:
        raise CannotRun("load_failed", str(error), "quiclens check FILE says what is wrong with it") from error
    document = summary.document()
    if not summary.events and not summary.connections:
        rejected = ", ".join(f"{count} {reason}" for reason, count in sorted(summary.rejected.items()))
        detail = f"the file has no event{f'; rejected: {rejected}' if rejected else ''}"
        hint = "qlog, QUIC_TRACE or line v1; quiclens check FILE says what is wrong with it"
        if summary.rejected.get("no_time"):
            hint = "these look like lines of an access log, which quiclens load --requests FILE reads"
        raise Stopped("no_trace", detail, hint)
    if role is Role.UPLOADER:  # which reads no row, not of its own file either
        return Response(document_text(document), 201, media_type="application/json")
    found = await app.run(lambda store: store.query(_OF_FOLDER, {"folder": f"{path.parent}/", "limit": 100}).dicts())
    return Response(document_text({**document, "connections_found": found}), 201, media_type="application/json")


_OF_FOLDER = (  # which is one upload's; the file's name may have held an address
    "SELECT connection_id, vantage, trace_id, events_seen, requests FROM connections FINAL "
    "WHERE startsWith(source_file, {folder:String}) ORDER BY events_seen DESC, trace_id LIMIT {limit:UInt32}"
)


def _plain(name: str) -> str:
    """A name that is safe in a path and in a header: ASCII."""
    kept = "".join(
        each if each.isascii() and (each.isalnum() or each in "-_.") else "_" for each in os.path.basename(name)
    )
    return kept[:_NAME].lstrip(".")
