"""Experiments: how users came to their arms, what differs, and what of it is told in which unit."""

import random
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from quiclens_schema import store as stores
from quiclens_schema.store import Store
from serve_process import start
from store_rows import fill, logged_request

from quiclens_questions.failure import UsageMistake
from quiclens_questions.report import Report
from quiclens_questions.reports import REPORTS, Options, asked_of
from quiclens_questions.split import ArmUsers, Key, Planned, warnings

Row = dict[str, Any]
BEGIN = datetime(2026, 11, 20, 10)
QUIC, TCP, TWICE = 620, 380, 30  # users, of which some of both have requests of the other arm too


def chance(shares: dict[str, float], users: dict[str, int]) -> float | None:
    return Planned(shares).chance({arm: ArmUsers(count) for arm, count in users.items()})


def test_an_uneven_split_is_found_and_an_even_one_is_not() -> None:
    """Of 4,000 users, 55 to 45 is flagged in 95 of 100 at least, an even split in 2 of 1,000 at most (here 5)."""
    drawn = random.Random(11)

    def flagged(share: float, times: int) -> float:
        found = 0
        for _ in range(times):
            of = sum(drawn.random() < share for _ in range(4_000))
            each = chance({}, {"a": of, "b": 4_000 - of})
            found += each is not None and each < 0.001
        return found / times

    assert flagged(0.55, 300) >= 0.95
    assert flagged(0.5, 1_000) <= 0.005


def test_a_split_is_judged_by_what_was_planned() -> None:
    users = {"a": 900, "b": 100}
    assert chance({}, users) == pytest.approx(0, abs=1e-100)
    assert chance({"a": 90, "b": 10}, users) == 1
    # Pearson's statistic is (910 - 900)² / 900 + (90 - 100)² / 100 = 1.111; its chance is 0.2918.
    assert chance({"a": 0.9, "b": 0.1}, {"a": 910, "b": 90}) == pytest.approx(0.2918, abs=1e-4)
    assert chance({}, {"a": 1_000}) is None and chance({}, {"a": 4, "b": 3}) is None


@pytest.mark.parametrize(
    "text",
    [
        "quic",
        "quic=",
        "=3",
        "quic=0",
        "quic=-1",
        "quic=nan",
        "quic=inf",
        "a=1,a=2",
        "a=1,,b=1",
        "a=1e308,b=1e308",
        "a=1e-300,b=1",
    ],
)
def test_a_plan_that_is_none_is_a_usage_mistake(text: str) -> None:
    with pytest.raises(UsageMistake, match="--split"):
        Planned.read(text)


def test_an_arm_that_nobody_came_to_is_missed() -> None:
    groups: dict[Key, dict[str, ArmUsers]] = {
        ("x",): {"quic": ArmUsers(600, 600)},
        (None,): {"quic": ArmUsers(300, 300), "tcp": ArmUsers(300, 300)},
    }
    (found,) = warnings(groups, Planned())
    assert found["kind"] == "sample_ratio_mismatch" and found["text"].startswith(
        "x: Of the users quic has 600, tcp has 0."
    )
    (planned,) = warnings({(): {"a": ArmUsers(500, 500), "b": ArmUsers(500, 500)}}, Planned.read("a=1, b=1, c=1"))
    assert "c has 0" in planned["text"]
    many = warnings({(str(each),): {"a": ArmUsers(600, 600), "b": ArmUsers(0)} for each in range(50)}, Planned())
    assert len(many) == 21 and many[-1]["text"] == "There are 30 more such warnings, of other groups."


def requests() -> Iterator[Row]:
    """Three requests of each user, the first over TCP in every second session of the arm that gets QUIC."""
    for user in range(QUIC + TCP):
        arm = "quic" if user < QUIC else "tcp"
        for number in range(3):
            is_quic = arm == "quic" and (number or user % 2)
            other = "tcp" if arm == "quic" else "quic"
            yield logged_request(
                f"{user}/{number}",
                BEGIN + timedelta(seconds=user + 10 * number),
                (80_000 if arm == "quic" else 100_000) + 10 * user,
                protocol="h3" if is_quic else "h2",
                user_hash=f"u{user}",
                arm=other if number == 2 and user % (1000 // TWICE) == 0 else arm,
            )


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    folder = tmp_path_factory.mktemp("experiment") / "store"
    fill(folder, {"requests": requests()})
    served = start(folder, "--keep-events", "0", "--keep-summaries", "0")
    with stores.open(served.store_url) as opened:
        yield opened
    assert served.stop() == 0


def compared(store: Store, split: str = "", by: Sequence[str] = (), between: str = "") -> Report:
    options = Options(base="tcp" if not between else "", split=split, between=between)
    asked = asked_of("compare", by, (), (None, None), options, datetime.now(UTC))
    return REPORTS["compare"].answer(store, asked)


def figures(report: Report) -> dict[str, Row]:
    return {row["figure"]: row for row in report.dicts() if row["stratum"] == "all" and row["arm"] == "quic"}


def test_users_are_told_beside_the_plan_and_warned_of(store: Store) -> None:
    rows = list(requests())
    users = {arm: len({row["user_hash"] for row in rows if row["arm"] == arm}) for arm in ("quic", "tcp")}
    both = len(
        {row["user_hash"] for row in rows if row["arm"] == "quic"} & {r["user_hash"] for r in rows if r["arm"] == "tcp"}
    )
    found = compared(store)
    row = figures(found)["users"]
    assert (row["value"], row["base_value"]) == (users["quic"], users["tcp"])
    assert row["difference"] == pytest.approx(users["quic"] / users["tcp"] - 1, abs=1e-6)
    assert 0 < row["difference_low"] < row["difference"] < row["difference_high"]
    kinds = {each["kind"]: each["text"] for each in found.warnings}
    assert set(kinds) == {"sample_ratio_mismatch", "users_in_several_arms"}
    assert f"quic has {users['quic']:,}, tcp has {users['tcp']:,}" in kinds["sample_ratio_mismatch"]
    assert f"{100 * both / (QUIC + TCP):.1f} %" in kinds["users_in_several_arms"]
    planned = compared(store, split="quic=62,tcp=38")
    assert [each["kind"] for each in planned.warnings] == ["users_in_several_arms"]
    assert abs(figures(planned)["users"]["difference"]) < 0.05
    assert planned.params["split"] == {"quic": 62, "tcp": 38}


def test_how_much_went_over_quic_differs_by_points(store: Store) -> None:
    rows = list(requests())
    found = figures(compared(store))
    share = {
        arm: sum(r["protocol"] == "h3" for r in rows if r["arm"] == arm) / sum(r["arm"] == arm for r in rows)
        for arm in ("quic", "tcp")
    }
    row = found["use_rate"]
    assert (row["value"], row["base_value"]) == (
        pytest.approx(share["quic"], abs=1e-6),
        pytest.approx(share["tcp"], abs=1e-6),
    )
    assert row["difference"] == pytest.approx(share["quic"] - share["tcp"], abs=2e-6) and row["unit"] == "share"
    assert row["difference_low"] < row["difference"] < row["difference_high"]
    assert {"sessions_all_quic", "sessions_mixed", "sessions_without_quic"} <= set(found)
    assert found["p50"]["difference"] == pytest.approx(-0.2, abs=0.05) and "p95" in found


def test_who_chose_an_arm_is_not_judged_by_a_plan(store: Store) -> None:
    """Who gets h3 is no draw; and that all over h3 goes over QUIC needs no figure."""
    found = compared(store, between="protocol")
    assert not found.warnings
    assert not {row["figure"] for row in found.dicts()} & {"users", "use_rate"}


def test_a_plan_names_every_arm(store: Store) -> None:
    with pytest.raises(UsageMistake, match="says nothing of the arm 'tcp'"):
        compared(store, split="quic=50,other=50")
