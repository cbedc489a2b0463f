"""Findings of `triage` as other systems take them: alerts of Prometheus' Alertmanager, and messages of a chat. Pure."""

from typing import TypedDict

from quiclens_questions.documents import TriageDocument, TriageFinding
from quiclens_questions.moment import whole_seconds
from quiclens_questions.triage_words import requests_link, who

ALERT_NAME = "QuiclensTriage"


class Alert(TypedDict):
    """As `POST /api/v2/alerts` takes it (Alertmanager, api/v2/openapi.yaml: postableAlert). It ends by itself when it
    is no longer told, after Alertmanager's `resolve_timeout`."""

    labels: dict[str, str]
    annotations: dict[str, str]
    startsAt: str
    generatorURL: str


class ChatMessage(TypedDict):
    """As incoming webhooks of Slack, Mattermost, Rocket.Chat and Google Chat take it."""

    text: str


def alerts(document: TriageDocument, address: str) -> list[Alert]:
    """An alert for each finding. Its labels are who and what it is, the same each time that it is told; `address` of
    the pages makes links."""
    return [_alert(finding, document, address) for finding in document["findings"]]


def _alert(finding: TriageFinding, document: TriageDocument, address: str) -> Alert:
    asked = {"where": " ".join(document["where"])} if document["where"] else {}
    conditions = {each["attribute"]: str(each["value"]) for each in finding["conditions"]}
    return {
        "labels": {"alertname": ALERT_NAME, "measure": finding["measure"], **asked, **conditions},
        "annotations": {"summary": who(finding["conditions"]), "description": finding["sentence"]},
        "startsAt": whole_seconds(finding["since"]),
        "generatorURL": requests_link(finding, document, address) if address else "",
    }


def chat_message(finding: TriageFinding, document: TriageDocument, address: str) -> ChatMessage:
    """One finding. A value of a log mentions nobody and is no link."""
    link = f"\n{requests_link(finding, document, address)}" if address else ""
    return {"text": _plain(finding["sentence"]) + link}


def _plain(text: str) -> str:
    """Without what a chat takes for a mention or a link: <, > and & as Slack wants them, a space of no width after
    @."""
    for sign, other in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ("@", "@\u200b")):
        text = text.replace(sign, other)
    return text
