"""A dashboard's link opens the overview with the same stretch of time and the same choices."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from fastapi.testclient import TestClient
from web_client import client

from quiclens_questions.failure import UsageMistake
from quiclens_questions.where import AnyOf, Condition, read
from quiclens_web.pages.from_grafana import page_of

FROM, TO = 1_763_550_000_000, 1_763_553_600_123


@pytest.fixture(scope="module")
def web(store_url: str) -> Iterator[TestClient]:
    with client(store_url) as made:
        yield made


def opened(web: TestClient, **asked: str | int | list[str]) -> Any:
    choices = {name.replace("var_", "var-", 1).removesuffix("_"): value for name, value in asked.items()}
    return web.get("/from-grafana", params=choices, follow_redirects=False)


def test_a_link_of_a_dashboard_leads_to_the_same_requests(web: TestClient) -> None:
    answer = opened(
        web,
        from_=FROM,
        to=TO,
        var_carrier=["Halden Mobile", "Vale & Söhne"],
        var_region=["$__all"],
        var_network_type=[""],
        var_trust="grade = 'whole'",
    )
    assert answer.status_code == 303
    there = urlsplit(answer.headers["location"])
    assert (there.netloc, there.path) == ("", "/")
    asked = parse_qs(there.query, keep_blank_values=True)
    assert [datetime.fromisoformat(asked[name][0]) for name in ("since", "until")] == [
        datetime.fromtimestamp(at / 1000, UTC) for at in (FROM, TO)
    ]
    carriers, network, whole = read(asked["where"], datetime.now(UTC)).conditions
    assert isinstance(carriers, AnyOf) and [each.value for each in carriers.conditions] == [
        "Halden Mobile", "Vale & Söhne",
    ]  # fmt: skip
    assert isinstance(network, Condition) and (network.column.name, network.value) == ("network_type", None)
    assert isinstance(whole, Condition) and (whole.column.name, whole.value) == ("grade", "whole")
    assert web.get(answer.headers["location"]).status_code == 200


@pytest.mark.parametrize(
    ("from_ms", "to_ms", "trust"), [(TO, FROM, "1"), (-1, TO, "1"), (FROM, 1 << 62, "1"), (FROM, TO, "1 OR 1")]
)
def test_what_no_dashboard_asks_is_refused(from_ms: int, to_ms: int, trust: str) -> None:
    with pytest.raises(UsageMistake):
        page_of(from_ms, to_ms, {}, trust)


def test_a_parameter_that_is_none_of_a_dashboard_is_refused(web: TestClient) -> None:
    assert opened(web, from_=FROM, to=TO).headers["location"].startswith("/?since=")
    for asked in ({"from_": "now-6h", "to": TO}, {"from_": FROM, "to": TO, "var_path": "x"}, {"to": TO}):
        assert opened(web, **asked).status_code == 422
