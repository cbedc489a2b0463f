"""quiclens audit"""

from quiclens_schema.store import DEFAULT_URL
from rich.text import Text

from quiclens_api.commands.options import AsJson, Limit, StoreUrl
from quiclens_api.failure import DONE, NOTHING_FOUND
from quiclens_api.opening import opened
from quiclens_api.output import answer
from quiclens_api.questions.audit import audit as ask_audit
from quiclens_api.show.report import plain_view


def audit(limit: Limit = 100, store: StoreUrl = DEFAULT_URL, as_json: AsJson = False) -> int:
    """Look for records that are missing or stand twice, in every trace whose events were kept.

    Every record of a trace has a number, and became an event or a reject; a number that is neither was lost on the
    way. Exit code 1 when there is any.

    [bold]Examples[/]

    \b
    quiclens audit
    quiclens audit --json --limit 10000
    """
    with opened(store) as data:
        found = ask_audit(data, limit)
    about = found.params
    line = f"{found.samples:,} traces, {about['events']:,} events: "
    line += f"{about['missing']:,} missing, {about['doubled']:,} twice"
    answer(as_json, found.document(), *plain_view(found, "Not as it was sent", "Nothing is missing."), Text(line))
    return NOTHING_FOUND if found.rows else DONE
