"""When servers began to run another release, and what counts as known before."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from quiclens_schema import store as stores
from quiclens_schema.migrate import migrate
from quiclens_schema.store import Store

from quiclens_questions.deployments import deployments
from quiclens_questions.where import read

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)

# Minutes from noon, cluster, server, release.
REQUESTS = [
    (-2000, "a", "a1", "0.9"),  # more than a day before
    (-900, "a", "a1", "1.0"),
    (-10, "a", "a2", "1.0"),
    (5, "a", "a1", "1.1"),
    (9, "a", "a2", "1.1"),
    (20, "a", "a1", "1.0"),  # back again
    (30, "a", "a3", "1.2"),
    (7, "b", "b1", "1.1"),  # what it ran first
    (40, "b", "b2", "1.2"),
    (11, None, "c1", "1.0"),
    (12, None, "c1", "1.1"),
    (50, "a", "a1", None),
    (70, "a", "a1", "2.0"),  # after the stretch
]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with stores.open(f"chdb:{tmp_path_factory.mktemp('deployed') / 'store'}") as opened:
        migrate(opened)
        for number, (minutes, cluster, server, release) in enumerate(REQUESTS):
            at = NOON + timedelta(minutes=minutes)
            opened.command(
                "INSERT INTO request_versions (request_id, started_hour, started_at, cluster, server, server_release)"
                " SELECT {id:String}, toStartOfHour({at:DateTime64(6, 'UTC')}), {at:DateTime64(6, 'UTC')},"
                " {cluster:Nullable(String)}, {server:String}, {release:Nullable(String)}",
                {
                    "id": str(number),
                    "at": f"{at:%Y-%m-%d %H:%M:%S}",
                    "cluster": cluster,
                    "server": server,
                    "release": release,
                },
            )
        yield opened


def test_a_release_is_marked_where_a_cluster_ran_another_before(store: Store) -> None:
    found = deployments(store, NOON, NOON + timedelta(hours=1))
    told = [
        ((each["at"] - NOON) // timedelta(minutes=1), each["cluster"], each["server_release"], each["servers"])
        for each in found["deployments"]
    ]
    assert told == [(5, "a", "1.1", 2), (12, None, "1.1", 1), (30, "a", "1.2", 1), (40, "b", "1.2", 1)]
    assert found["all"] == 4 and [each["requests"] for each in found["deployments"]] == [2, 1, 1, 1]


def test_those_left_out_are_counted_and_conditions_hold(store: Store, tmp_path: Path) -> None:
    until = NOON + timedelta(hours=1)
    first = deployments(store, NOON, until, limit=1)
    assert len(first["deployments"]) == 1 and first["all"] == 4
    only = deployments(store, NOON, until, read(["cluster=b"], NOON))
    assert [each["server_release"] for each in only["deployments"]] == ["1.2"]
    assert deployments(store, until, until + timedelta(minutes=5)) == {"deployments": [], "all": 0}


def test_without_a_beginning_what_ran_first_is_no_deployment(store: Store) -> None:
    found = deployments(store, None, NOON)
    assert [each["server_release"] for each in found["deployments"]] == ["1.0"]
