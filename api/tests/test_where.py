"""What `--where` takes: signs, units, patterns, names of causes, OR; and what it refuses, with a hint."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from quiclens_schema import store as stores
from quiclens_schema.migrate import migrate
from quiclens_schema.store import Store

from quiclens_questions.failure import UsageMistake
from quiclens_questions.slow import Slow, slow
from quiclens_questions.where import AnyOf, Condition, read

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)


def one(text: str) -> Condition:
    (found,) = read([text], NOW).conditions
    assert isinstance(found, Condition)
    return found


@pytest.mark.parametrize(
    ("text", "operator", "value"),
    [
        ("duration_us>=1.5s", ">=", 1_500_000),
        ("duration_us > 200 ms", ">", 200_000),
        ("duration_us<2min", "<", 120_000_000),
        ("duration_us=7", "=", 7),
        ("response_bytes>1MB", ">", 1_000_000),
        ("response_bytes<=1KiB", "<=", 1_024),
        ("top_cause=congestion window", "=", "cwnd_blocked"),
        ("top_cause!=Loss Recovery", "!=", "loss_recovery"),
        ("top_cause=pto", "=", "pto"),
        ("top_cause=", "=", None),
        ("path~/api/*", "~", "/api/%"),
        ("path~50%_a\\b", "~", r"%50\%\_a\\b%"),
        ("path!~*.jpg", "!~", "%.jpg"),
        ("path=/x OR y", "=", "/x OR y"),
        ("path = /x y ", "=", "/x y"),
    ],
)
def test_a_comparison_is_read(text: str, operator: str, value: object) -> None:
    assert (one(text).operator, one(text).value) == (operator, value)


def test_comparisons_with_or_between_them_are_one_condition() -> None:
    found = read(["carrier=Halden Mobile  OR  carrier = Vale DSL OR duration_us>=1s", "status=200"], NOW)
    any_of, _ = found.conditions
    assert isinstance(any_of, AnyOf) and any_of.columns == {"carrier", "duration_us"}
    assert [each.value for each in any_of.conditions] == ["Halden Mobile", "Vale DSL", 1_000_000]
    assert found.parameters() == {
        "where_0_0": "Halden Mobile", "where_0_1": "Vale DSL", "where_0_2": 1_000_000, "where_1": 200,
    }  # fmt: skip
    first, second = found.sql().splitlines()
    assert first.startswith("    AND (`carrier` = {where_0_0:String} OR ") and second.startswith("    AND `status` = ")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("duration_us>=1.5", "or a number with us, µs, ms, s, min, h"),
        ("duration_us>=0.5us", "a whole number"),
        ("duration_us>=1MB", "a whole number"),
        ("status>=1s", "a whole number below 2^16"),
        ("duration_us>=99999999999999999999h", "below 2^64"),
        ("top_cause=window", "one of handshake, amplification limit"),
        ("duration_us~1", "a part of a text"),
        ("path~", "a part of a text"),
        ("path", "no comparison"),
        ("carrier=x OR duration_us=slow", "a whole number"),
        ("carrier=x OR carier=y", "did you mean carrier?"),
        ("carrier~~", "nothing"),
    ],
)
def test_what_does_not_fit_is_refused_with_what_would(text: str, said: str) -> None:
    if said == "nothing":
        assert one(text).value == "%~%"
        return
    with pytest.raises(UsageMistake) as refused:
        read([text], NOW)
    assert said in f"{refused.value} {refused.value.hint}"


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with stores.open(f"chdb:{Path(tmp_path_factory.mktemp('where')) / 'store'}") as opened:
        migrate(opened)
        rows = "('r0', 'Halden', '/api/a_b', 2000000), ('r1', 'Vale', '/API/axb', 900000)"
        opened.command(
            "INSERT INTO request_versions"
            " (request_id, carrier, path, duration_us, started_at, started_hour, source, link, complete, weight)"
            " SELECT *, toDateTime64('2026-11-20 10:00:00', 6, 'UTC'), toDateTime('2026-11-20 10:00:00', 'UTC'),"
            " 'log', 'none', true, 1"
            " FROM VALUES('id String, carrier Nullable(String), path String, us UInt64',"
            f" {rows}, ('r2', NULL, '/img/100%.jpg', 1000000))"
        )
        yield opened


@pytest.mark.parametrize(
    ("texts", "found"),
    [
        (["path~/api/*"], {"r0", "r1"}),
        (["path~a_b"], {"r0"}),
        (["path~100%"], {"r2"}),
        (["path!~/api/*"], {"r2"}),
        (["carrier!~hald*"], {"r1", "r2"}),
        (["duration_us>=1s"], {"r0", "r2"}),
        (["duration_us>1s"], {"r0"}),
        (["duration_us<1000ms"], {"r1"}),
        (["carrier=Halden OR carrier=Vale"], {"r0", "r1"}),
        (["carrier= OR duration_us<1s", "path~*a*"], {"r1"}),
    ],
)
def test_the_engine_answers_as_it_reads(store: Store, texts: list[str], found: set[str]) -> None:
    answer = slow(store, Slow(where=read(texts, NOW)))
    assert {row["request_id"] for row in answer["requests"]} == found
