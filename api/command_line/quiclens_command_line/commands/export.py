"""quiclens export"""

import sys
from pathlib import Path
from typing import Annotated

import typer
from quiclens_schema.store import DEFAULT_URL

from quiclens_command_line.commands.options import AsJson, StoreUrl
from quiclens_command_line.output import answer, print_document, say
from quiclens_questions.collector import VANTAGES
from quiclens_questions.export import ExportRequest, chosen
from quiclens_questions.export import answer as answer_of
from quiclens_questions.export import export as write_export
from quiclens_questions.failure import DONE, NOTHING_FOUND, usage
from quiclens_questions.opening import opened
from quiclens_questions.units import size

_FORMATS = {".qlog": ("qlog", "as-is"), ".sqlog": ("sqlog", "for-qvis")}
_VANTAGES = ("", *VANTAGES)


def export(
    connection_id: Annotated[str, typer.Argument(metavar="CONNECTION_ID", help="The connection, by any of its IDs.")],
    file: Annotated[str, typer.Option("-o", "--output", metavar="FILE", help="FILE.qlog, FILE.sqlog, - for stdout.")],
    as_is: Annotated[bool, typer.Option("--as-is", help="As the server logged it; the default of .qlog.")] = False,
    for_qvis: Annotated[bool, typer.Option("--for-qvis", help="As qvis draws it; the default of .sqlog.")] = False,
    is_anonymous: Annotated[
        bool, typer.Option("--anonymous", help="FILE.sqlog with the same times and sizes, and nobody in it.")
    ] = False,
    vantage: Annotated[str, typer.Option("--vantage", metavar="V", help="server, client or network.")] = "",
    trace: Annotated[str, typer.Option("--trace", metavar="ID", help="One trace of several.")] = "",
    from_us: Annotated[int | None, typer.Option("--from-us", metavar="N", help="Only events from then on.")] = None,
    to_us: Annotated[int | None, typer.Option("--to-us", metavar="N", help="Only events up to then.")] = None,
    store: StoreUrl = DEFAULT_URL,
    as_json: AsJson = False,
) -> int:
    """Write one connection's trace as qlog, for qvis or exactly as it was logged.

    Of several traces of the connection it takes the server's before the client's, a complete one before a cut one.
    Times are microseconds since the trace began.

    --anonymous keeps numbers and qlog's own words, so that the causes are the same to the microsecond, and replaces or
    leaves out all else: addresses, names, paths, header values, tokens, ids, wall clocks, what no schema knows.

    Examples:

    \b
    quiclens export 4a1f9bd2c3e0 -o slow.sqlog
    quiclens export 4a1f9bd2c3e0 -o slow.qlog --vantage client
    quiclens export 4a1f9bd2c3e0 --anonymous -o for-the-report.sqlog
    quiclens export 4a1f9bd2c3e0 -o middle.sqlog --from-us 1000000 --to-us 2000000
    """
    if vantage not in _VANTAGES:
        raise usage(f"--vantage {vantage!r} is none", "write server, client or network")
    if from_us is not None and to_us is not None and from_us > to_us:
        raise usage("--from-us is after --to-us")
    form, mode = _form(file, as_is, for_qvis, as_json)
    if is_anonymous:
        if for_qvis or (file != "-" and form != "sqlog"):
            raise usage("--anonymous writes a sequence as it was logged", "write FILE.sqlog, without --for-qvis")
        form, mode = "sqlog", "as-is"
    target = None if file == "-" else Path(file)
    wanted = ExportRequest(connection_id, form, mode, target, vantage, trace, from_us, to_us, is_anonymous)
    with opened(store) as data:
        found = chosen(data, wanted)
        if found is None:
            say(f"there is no such trace of {connection_id}")
            if as_json:
                print_document(answer_of(wanted, {}, 0, 0) | {"file": None})
            return NOTHING_FOUND
        if found["events_kept"] != "all":
            were = "were not kept" if found["events_kept"] == "none" else "are not kept any more"
            say(f"the events of {connection_id} {were}, only its summary")
        document = write_export(data, wanted, found, sys.stdout.buffer)
    if target is None:
        return DONE if document["events"] else NOTHING_FOUND
    written = f"{file}: {document['events']:,} events of {document['vantage']} trace {document['trace_id']}"
    answer(as_json, document, f"{written}, {size(document['bytes'])}, {mode}")
    return DONE if document["events"] else NOTHING_FOUND


def _form(file: str, as_is: bool, for_qvis: bool, as_json: bool) -> tuple[str, str]:
    if as_is and for_qvis:
        raise usage("--as-is and --for-qvis exclude each other")
    if file == "-":
        if sys.stdout.isatty():  # a log is no text for a terminal
            raise usage("-o - writes a log as it is, which is not for a terminal", "redirect it, or write to a file")
        if as_json:
            raise usage("-o - and --json both want standard output", "write to a file")
        form, mode = ("sqlog", "for-qvis") if for_qvis else ("qlog", "as-is")
    elif Path(file).suffix in _FORMATS:
        form, mode = _FORMATS[Path(file).suffix]
    else:
        raise usage(f"-o {file}: the suffix says the form", "write FILE.qlog or FILE.sqlog")
    return form, "as-is" if as_is else "for-qvis" if for_qvis else mode
