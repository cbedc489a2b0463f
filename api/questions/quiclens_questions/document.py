"""Documents as text: JSON for programs."""

import json
import math
from collections.abc import Mapping
from datetime import date, datetime
from typing import Any

from quiclens_schema.plain_text import json_for_terminal

from quiclens_questions.moment import rfc3339


def document_text(document: Mapping[str, Any]) -> str:
    """One JSON document on one line; the same values give the same bytes."""
    return json_for_terminal(json.dumps(_plain(document), ensure_ascii=False, allow_nan=False))


def _plain(value: Any) -> Any:
    """Values of the store as JSON has them."""
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, datetime):
        return rfc3339(value)
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return value
