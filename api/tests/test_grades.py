"""Of how many requests records are missing is said beside every answer, and they can be left out."""

from datetime import UTC, datetime
from pathlib import Path

import pytest
from api_seed import SERVER, request
from quiclens_schema import store as stores
from store_rows import fill

from quiclens_command_line.main import main
from quiclens_questions.over_time import OverTime, over_time, spent_over_time

GRADES = ["whole"] * 5 + ["repaired"] * 3 + ["damaged"] * 2


@pytest.fixture(scope="module")
def store_url(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder: Path = tmp_path_factory.mktemp("grades") / "store"
    rows = [
        request(f"aa/{4 * number}", SERVER, 100_000 + number, grade=grade, top_cause="pto", top_cause_us=90_000)
        for number, grade in enumerate(GRADES)
    ]
    fill(folder, {"requests": [*rows, request("log:0f0f/1", None, 5_000)]})
    return f"chdb:{folder}"


def said(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert main(list(words)) == 0
    return " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize(
    "words", [("slow",), ("slow", "--by", "status"), ("report", "tail"), ("report", "tail", "--by", "carrier")]
)
def test_answers_say_of_how_many_requests_records_are_missing(
    store_url: str, capsys: pytest.CaptureFixture[str], words: tuple[str, ...]
) -> None:
    told = said(capsys, *words, "--store", store_url)
    assert "records of the log are missing: 3 repaired, 2 damaged" in told
    left = said(capsys, *words, "--store", store_url, "--where", "grade=whole")
    assert "drawn from 5 requests, 5 of them traced (100 %)" in left and "missing" not in left
    assert "damaged" not in said(capsys, *words, "--store", store_url, "--where", "grade!=damaged")


def test_a_list_marks_what_is_damaged(store_url: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert said(capsys, "slow", "--store", store_url).count("damaged log") == 2


def test_times_over_time_count_them_too(store_url: str) -> None:
    asked = OverTime(datetime(2026, 11, 20, 9, tzinfo=UTC), datetime(2026, 11, 20, 12, tzinfo=UTC))
    with stores.open(store_url) as store:
        for found in (over_time(store, asked), spent_over_time(store, asked)):
            coverage = found["coverage"]
            assert {name: coverage[name] for name in ("requests", "traced", "repaired", "damaged")} == {
                "requests": 11,
                "traced": 10,
                "repaired": 3,
                "damaged": 2,
            }
