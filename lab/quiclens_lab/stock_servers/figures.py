"""A plugin of pytest: what the tests of servers found, as properties in the report that pytest writes."""

from collections.abc import Iterator
from typing import Any

import pytest


def pytest_runtest_teardown(item: pytest.Item) -> None:
    """Before the last report of a test is made, which has them."""
    item.user_properties += [(name, str(value)) for name, value in _found(item)]


def _found(item: pytest.Item) -> Iterator[tuple[str, int | str]]:
    given = getattr(item, "funcargs", {})
    module: Any = getattr(item, "module", None)
    if (logs := given.get("caddy")) is not None:
        yield "requests", logs.followed["requests"]
        yield "linked", logs.followed["traced"]
    if "servers" in given and (name := given.get("name") or given.get("name_with_streams")) is not None:
        requests = given["servers"][name].requests
        linked_by = module.LINKED_BY[name]
        yield "requests", len(requests)
        yield "linked", sum(each["link"] == linked_by for each in requests) if linked_by != "none" else 0
        yield "linked_by", linked_by
    if (followed := given.get("followed")) is not None:
        yield "requests", len(followed.requests)
        yield "linked_by", "none"
    if hasattr(module, "ASKED") and item.name.startswith("test_each_request_of_a_stock_envoy"):
        yield "requests", len(module.ASKED)
        yield "linked_by", "none"
