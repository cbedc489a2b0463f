"""Tells others by HTTP: a POST of a JSON document, whose address may be a secret and is never printed."""

import json
from typing import Any

from urllib3 import PoolManager, Timeout
from urllib3.exceptions import HTTPError

PATIENCE_S = 10


class NotTold(Exception):
    """What was posted did not arrive, or was not taken."""


def post(address: str, document: Any) -> None:
    """Post a document; NotTold with the reason, but without the address."""
    headers = {"Content-Type": "application/json", "User-Agent": "quiclens"}
    try:
        with PoolManager(retries=False, timeout=Timeout(total=PATIENCE_S)) as pool:
            answer = pool.request("POST", address, body=json.dumps(document), headers=headers, redirect=False)
    except (HTTPError, ValueError) as error:
        raise NotTold(type(error).__name__) from None
    if not 200 <= answer.status < 300:
        raise NotTold(f"it answers with {answer.status}")
