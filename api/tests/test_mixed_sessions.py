"""Why a session is mixed: the order in which its requests went over QUIC and TCP, and whether one failed before."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from quiclens_schema import store as stores
from serve_process import start
from store_rows import fill, logged_request

from quiclens_questions.reports import REPORTS, Options, asked_of

BEGIN = datetime(2026, 11, 20, 10)
# Of each user: h3, h2, or H for an h3 request that failed; a space is an hour in which another session begins.
USERS = {
    "discovers": "2333",
    "discovers twice": "233 23",
    "falls back": "3322",
    "falls back after a failure": "33H2",
    "to and fro": "3232",
    "to and fro after a failure": "2H23",
    "all over QUIC": "3333",
    "a failure is no reason to leave": "3H33",
    "never": "222",
    "alone": "2",
}


def requests() -> list[dict[str, Any]]:
    rows = []
    for user, each in USERS.items():
        at = BEGIN
        for number, kind in enumerate(each):
            at += timedelta(hours=1) if kind == " " else timedelta(seconds=10)
            if kind != " ":
                protocol, status = "h2" if kind == "2" else "h3", 503 if kind == "H" else 200
                own = {"protocol": protocol, "status": status, "user_hash": user}
                rows.append(logged_request(f"{user}/{number}", at, 100_000, **own))
    return rows


def test_the_order_of_protocols_says_why(tmp_path: Path) -> None:
    fill(tmp_path / "store", {"requests": reversed(requests())})
    served = start(tmp_path / "store", "--keep-events", "0", "--keep-summaries", "0")
    with stores.open(served.store_url) as store:
        asked = asked_of("coverage", (), (), (None, None), Options(), datetime.now(UTC))
        found = {
            row["figure"]: (row["share"], row["samples"]) for row in REPORTS["coverage"].answer(store, asked).dicts()
        }
    assert served.stop() == 0
    shares = {
        "sessions_all_quic": (2, 11),
        "sessions_mixed": (7, 11),
        "sessions_without_quic": (2, 11),
        "mixed_began_over_tcp": (3, 7),
        "mixed_fell_back": (2, 7),
        "mixed_back_and_forth": (2, 7),
        "left_quic_after_failure": (2, 4),  # what matters is the first time that QUIC was left
    }
    assert found == {figure: (pytest.approx(hits / of, abs=1e-6), of) for figure, (hits, of) in shares.items()}
