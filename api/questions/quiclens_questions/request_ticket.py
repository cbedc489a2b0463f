"""A request as a ticket in Markdown: what it was, why it took as long as it did, and where to look. Pure."""

from collections.abc import Iterator
from urllib.parse import quote

from quiclens_schema.plain_text import markdown_link, markdown_text

from quiclens_questions.advice import ADVICE, worth_advice
from quiclens_questions.causes import look
from quiclens_questions.explain import Explanation
from quiclens_questions.moment import rfc3339
from quiclens_questions.units import duration, milliseconds, share


def request_ticket(found: Explanation, address: str = "") -> Iterator[str]:
    """Line by line; `address` of the pages makes links."""
    document = found.document
    name = document["request_id"]
    took = f" took {duration(document['duration_us'])}" if document["duration_us"] is not None else ""
    yield f"# {markdown_text(found.line or name)}{took}\n"
    yield markdown_text(document["sentence"])
    if document["parts"]:
        yield "\n| it waited for | ms | share |\n|---|---:|---:|"
        for part in document["parts"]:
            of_all = share(part["us"], document["duration_us"] or 0)
            yield f"| {look(part['cause']).name} | {milliseconds(part['us'])} | {of_all} |"
    yield ""
    yield f"- request: {markdown_link(name, f'{address}/requests/{quote(name)}' if address else '')}"
    for label, told in (("external id", "external_id"), ("connection", "connection_id")):
        if value := found.told(told):
            page = f"{address}/connections/{quote(str(value), safe='')}" if address and label == "connection" else ""
            yield f"- {label}: {markdown_link(str(value), page)}"
    if started := found.told("started_at"):
        yield f"- began: {rfc3339(started)}"
    if found.about:
        yield f"- {markdown_text(', '.join(found.about))}"
    if document["grade"]:
        yield f"- its log is {markdown_text(document['grade'])}"
    for cause in worth_advice(document["parts"]):
        yield f"- what usually helps against {look(cause).name}: {ADVICE[cause]}"
