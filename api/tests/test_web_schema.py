"""Whatever is asked within the OpenAPI document and around it, the answer is a document: never 5xx, never SQL."""

import re
from collections import Counter
from contextlib import suppress
from typing import Any
from unittest import SkipTest
from urllib.parse import unquote_plus

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis.errors import Unsatisfiable
from quiclens_schema import store as stores
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.config import SchemathesisConfig
from schemathesis.core.result import Ok
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)
from web_client import app_of

# What the engine says of itself when a statement of ours fails; no question may show it.
ENGINE = re.compile(r"DB::Exception|Code: \d+\.|In scope SELECT|SYNTAX_ERROR|clickhouse|Traceback", re.IGNORECASE)
HOST = {"host": "127.0.0.1:8123"}
CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]


@pytest.mark.parametrize("cases", [10, pytest.param(40, marks=pytest.mark.long)])
def test_any_question_is_answered(store_url: str, cases: int) -> None:
    """So many cases of each operation and each kind: as the document says, and not."""
    asked: Counter[str] = Counter()
    with stores.open(store_url) as store:
        config = SchemathesisConfig.from_dict({"generation": {"with-security-parameters": False}})
        schema = schemathesis.openapi.from_asgi("/api/openapi.json", app_of(store), config=config, headers=HOST)
        for found in schema.get_all_operations():
            assert isinstance(found, Ok), found
            operation = found.ok()
            for mode in GenerationMode:
                _ask(operation, mode, asked, cases)
    assert sum(asked.values()) >= 50 * cases and len(asked) >= 15, asked


def _ask(operation: Any, mode: GenerationMode, asked: Counter[str], cases: int) -> None:
    @given(case=operation.as_strategy(generation_mode=mode))
    @settings(max_examples=cases, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
    def ask(case: Any) -> None:
        asked[operation.label] += 1
        answer = case.call(headers=HOST)
        found = ENGINE.search(answer.text)  # what was asked may be told back
        assert not found or found[0].lower() in unquote_plus(str(answer.request.url)).lower(), answer.text[:500]
        case.validate_response(answer, checks=CHECKS)

    # An operation that takes nothing cannot be asked wrongly.
    with suppress(Unsatisfiable, SkipTest):
        ask()
