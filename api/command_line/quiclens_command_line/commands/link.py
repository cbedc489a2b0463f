"""quiclens link"""

from quiclens_ingest.link import link as link_all
from quiclens_schema.store import DEFAULT_URL

from quiclens_command_line.commands.options import AsJson, StoreUrl
from quiclens_command_line.output import answer
from quiclens_questions.failure import DONE, NOTHING_FOUND
from quiclens_questions.opening import opened


def link(store: StoreUrl = DEFAULT_URL, as_json: AsJson = False) -> int:
    """Join access log lines with the streams of traces again, for every hour.

    `load` and `ingest` do it by themselves; twice in a row gives the same table.

    Examples:

    \b
    quiclens link
    quiclens link --json
    """
    with opened(store) as data:
        summary = link_all(data)
    document = {"hours": summary.hours, "requests": summary.requests}
    answer(as_json, document, f"{summary.requests:,} requests in {summary.hours:,} hours")
    return DONE if summary.requests else NOTHING_FOUND
