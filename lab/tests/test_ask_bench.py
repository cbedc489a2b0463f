"""The bench of questions, on a small store; and which days a question about a stretch of time looks at."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from quiclens_questions.moment import bound
from quiclens_questions.statements import sql
from quiclens_schema import store as stores
from quiclens_schema.migrate import migrate

from quiclens_lab.ask_bench import amplified, command
from quiclens_lab.ask_bench import store as asked_store
from quiclens_lab.link_bench.days import fill

TODAY = datetime(2026, 3, 4, tzinfo=UTC)
OF_CONNECTIONS = (
    "chosen_connections",
    "connections_in_window",
    "loss_figures",
    "connection_rtts",
    "rtt_deviations",
    "handshake_figures",
    "goodput_figures",
)


@pytest.mark.long
def test_a_small_bench_asks_everything_with_one_day_behind_and_with_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(asked_store, "MADE", tmp_path)
    monkeypatch.setattr(amplified, "LONG_EVENTS", 20_000)
    monkeypatch.setattr(command, "LONG_EVENTS", 20_000)
    monkeypatch.setattr(command, "A_DAY", 1_000)
    monkeypatch.setattr(command, "ASKED", 5)
    found = command.ask_bench(requests=2_000, events=20_000, days=3, keep=False)
    assert not [each for each in found["missed"] if "Error" in each]
    assert set(found["took"]) == set(found["with_one_day"]) == set(found["times_one_day"]) == set(command.BARS)
    assert found["rows"]["requests"] >= 5_000
    with stores.open(f"chdb:{asked_store.made(2_000, 20_000, 3, 1_000)}") as store:
        days = "SELECT uniqExact(toDate(started_hour)) FROM request_versions"
        asked_store.put_aside(store)
        assert store.query(days).one() == (2,)
        asked_store.put_back(store)
        assert store.query(days).one() == (4,)


def test_questions_about_connections_read_the_days_of_their_window_alone(tmp_path: Path) -> None:
    yesterday = TODAY - timedelta(days=1)
    hour = {
        "since": bound(yesterday + timedelta(hours=5)),
        "until": bound(yesterday + timedelta(hours=6)),
        "time_zone": "UTC",
        "least_bytes": 1,
    }

    def reads(days: int) -> dict[str, dict[str, int]]:
        found = {}
        with stores.open(f"chdb:{tmp_path}/{days}") as store:
            migrate(store)
            fill(store, TODAY.date(), days, 200)
            for name in OF_CONNECTIONS:
                text = (
                    sql(name).replace("/* conditions */", "").replace("/* by */", "").replace("/* key columns */", "")
                )
                given = {each: value for each, value in hour.items() if f"{{{each}:" in text}
                rows = store.query(f"EXPLAIN ESTIMATE {text}", given).dicts()
                found[name] = {each["table"]: each["rows"] for each in rows}
        return found

    with_one_day = reads(1)
    assert all(each["connections"] >= 20 for each in with_one_day.values())
    assert reads(3) == with_one_day
