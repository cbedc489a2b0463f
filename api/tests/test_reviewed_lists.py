"""What somebody has read of the engine is what the engine is: a new function, setting or table fails here first."""

from collections.abc import Iterator
from typing import Any

import pytest
from quiclens_schema import engine

from quiclens_store_server import gate, reviewed
from quiclens_web.front.faults import Refused

ASKED = {
    "functions": "SELECT name FROM system.functions",
    "table_functions": "SELECT name FROM system.table_functions",
    "table_engines": "SELECT name FROM system.table_engines",
    "settings": "SELECT name FROM system.settings",
    "formats": "SELECT name FROM system.formats",
    "system_tables": "SELECT name FROM system.tables WHERE database = 'system'",
}


@pytest.fixture(scope="module")
def connection(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """The pinned engine, whole: without grants, so that every table of `system` is listed."""
    import chdb

    made = chdb.connect(str(tmp_path_factory.mktemp("reviewed") / "store"))
    yield made
    made.close()


@pytest.mark.parametrize("kind", reviewed.KINDS)
def test_every_name_of_the_engine_was_read_by_somebody(connection: Any, kind: str) -> None:
    found = set(str(connection.query(ASKED[kind], "TSVRaw")).split())
    assert found - set(reviewed.names(kind)) == set(), "new: read what it does, and add it with + or -"
    assert set(reviewed.names(kind)) - found == set(), "gone"


def test_the_engine_s_version_is_the_one_that_was_read(connection: Any) -> None:
    assert str(connection.query("SELECT version()", "TSVRaw")).strip() == "26.9.2.1"
    assert engine.GRANTS


@pytest.mark.parametrize(
    "name", ["file", "FILE", "dictGet", "hostname", "HOSTNAME", "getMacro", "zookeeperSessionUptime"]
)
def test_a_refused_function_is_refused_in_every_case_and_with_every_combinator(name: str) -> None:
    for combined in (name, name.upper(), f"{name}If", f"{name}OrNull", f"{name}ArrayIf"):
        assert not reviewed.may_call(combined, ("ornull", "array", "if"))


def test_an_aggregate_function_may_have_combinators() -> None:
    for name in ("sumIf", "uniqExactArrayIf", "SUM", "quantileTDigestMergeState", "countIf"):
        assert reviewed.may_call(name, ("array", "merge", "state", "if")), name
    assert not reviewed.may_call("sumNobodyKnows", ("if",))


def test_a_kind_of_node_that_nobody_has_read_is_refused() -> None:
    select = {"type": "SelectQuery", "select": {"type": "ExpressionList", "children": [{"type": "SomethingNew"}]}}
    with pytest.raises(Refused, match="SomethingNew"):
        gate.check(select, ())
    with pytest.raises(Refused, match="InsertQuery"):
        gate.check({"type": "InsertQuery"}, ())
