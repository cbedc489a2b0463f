"""A slice of `quiclens-lab schema-cases`, that it goes on where it ended, and what it takes for a failure."""

import json
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from quiclens_schema.served import OPERATION_PATH, ROWS_PATH

from quiclens_lab import schema_cases as bar
from quiclens_lab.judgement import Judgement
from quiclens_lab.schema_cases import ROLES, PlantedFile, _Asking, is_documented, judge, schema_cases
from quiclens_lab.served import served
from quiclens_lab.undescribed import documents, statements_of_a_file


@pytest.mark.long
def test_no_question_of_any_role_is_answered_as_it_must_not_be(tmp_path: Path) -> None:
    document = schema_cases(1_500, False, lambda done, of: None, chunk=2, folder=tmp_path)
    assert document["passes"] and document["left_out"] == [f"{document['cases']:,} cases of 100,000"], document
    assert document["cases"] >= 1000 and document["failed"] == 0
    assert all(document["answers"][role] and document["of_the_file"][role] > 10 for role in ROLES)
    assert document["answers"]["reader"].get("200", 0) > 20
    (kept,) = tmp_path.iterdir()
    assert kept.stem == document["code"]
    operations = {each["operation"] for each in map(json.loads, kept.read_text().splitlines())}
    assert {"GET /api/v1/requests", "pages GET /", "pages POST /login", "interface POST /"} <= operations
    assert {f"store POST {path}" for path in (ROWS_PATH, OPERATION_PATH)} <= operations

    before = kept.read_text()
    kept.write_text(before + '{"round": 7, "role"')  # a run that was killed as it wrote
    again = schema_cases(1_500, False, lambda done, of: None, chunk=2, folder=tmp_path)
    assert again["cases"] == document["cases"] and again["answers"] == document["answers"]


def test_every_statement_about_the_planted_file_is_asked(tmp_path: Path) -> None:
    with served(tmp_path) as running:
        planted = PlantedFile(tmp_path / "outside.txt")
        asking = _Asking(running, planted)
        statements = statements_of_a_file(planted.path)
        asked: list[str] = []
        one = asking._one

        def noted(role: str, kind: str, case: Any, hostile: dict[str, str]) -> tuple[int, str, str]:
            asked.append(case.body)
            return one(role, kind, case, hostile)

        asking._one = noted  # type: ignore[method-assign]
        found = asking.chunk(0, "reader", "interface POST /", "file", len(statements))
        assert asked == statements and found.of_the_file == len(statements)
        assert found.failures == [] and set(found.answers) <= {"400", "403", "404", "200"}, found.answers
        assert planted.is_as_it_was()
        pages = asking.chunk(0, "reader", "pages GET /static/{name}", "file", 2)
        assert pages.of_the_file == 2 and pages.answers == {"404": 2}


def test_another_code_begins_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hashes = iter("ab")
    monkeypatch.setattr(bar, "code_of", lambda *_: next(hashes))
    for _ in range(2):
        schema_cases(3, False, lambda done, of: None, chunk=1, folder=tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {"a.jsonl", "b.jsonl"}


def test_a_bar_without_its_cases_or_without_the_file_is_missed() -> None:
    whole = {"cases": 100_000, "of_the_file": dict.fromkeys(ROLES, 1), "failed": 0}

    def told(**other: Any) -> tuple[list[str], list[str]]:
        judgement = Judgement("schema-cases", whole | other)
        judge(judgement)
        return judgement.missed, judgement.left_out

    assert told() == ([], [])
    assert told(cases=99_999) == ([], ["99,999 cases of 100,000"])
    assert told(failed=1) == (["1 cases failed"], [])
    assert told(of_the_file=dict.fromkeys(ROLES, 1) | {"reader": 0}) == (
        ["reader never asked for the planted file"],
        [],
    )


def test_statements_ask_for_the_planted_file_in_every_way(tmp_path: Path) -> None:
    outside = tmp_path / "outside.txt"
    told = json.dumps(documents(outside)["interface"])
    ways = (
        "file('{0}'",
        "`{0}`",
        "INTO OUTFILE '{0}",
        "FROM INFILE '{0}'",
        "sqlite('{0}'",
        "File(LineAsString, '{0}')",
    )
    assert [way for way in ways if way.format(outside) not in told] == []
    assert "/etc/passwd" not in told


@pytest.mark.parametrize(
    ("body", "headers", "says"),
    [
        ("nothing", {}, ""),
        ("x {content} y", {}, "a secret is in the answer"),
        ("nothing", {"x-told": "{content}"}, "a secret is in the answer"),
        ("{token}", {}, "a secret is in the answer"),
    ],
)
def test_the_content_of_the_planted_file_or_a_token_in_an_answer_is_a_failure(
    tmp_path: Path, body: str, headers: Mapping[str, str], says: str
) -> None:
    planted = PlantedFile(tmp_path / "outside.txt")

    def told(text: str) -> str:
        return text.format(content=planted.content, token="abcdef")

    asking = _Asking.__new__(_Asking)
    asking._secrets, asking._rows = [planted.content, "abcdef"], []
    answer = SimpleNamespace(
        status_code=200, content=told(body).encode(), headers={name: told(value) for name, value in headers.items()}
    )
    case: Any = SimpleNamespace(method="POST", operation=SimpleNamespace(path="/"))
    assert asking._fault("reader", "interface", case, answer, "", True) == says


def test_a_planted_file_that_is_written_or_has_another_beside_it_is_not_as_it_was(tmp_path: Path) -> None:
    planted = PlantedFile(tmp_path / "outside.txt")
    assert planted.is_as_it_was()
    (tmp_path / "outside.txt.out").write_text("1")
    assert not planted.is_as_it_was()
    (tmp_path / "outside.txt.out").unlink()
    planted.path.write_text("1")
    assert not planted.is_as_it_was()


@pytest.mark.parametrize(
    ("is_clickhouse", "status", "text", "is_so"),
    [
        (True, 500, "Code: 153. DB::Exception: Division by zero (ILLEGAL_DIVISION)", True),
        (True, 501, "Code: 48. DB::Exception: no (NOT_IMPLEMENTED)", True),
        (True, 503, '{"engine_code":241}', True),
        (True, 500, "Code: 49. DB::Exception: Logical error (LOGICAL_ERROR)", False),
        (True, 500, "Code: 1002. DB::Exception: x (UNKNOWN_EXCEPTION)", False),
        (True, 503, "Code: 153. DB::Exception: Division by zero (ILLEGAL_DIVISION)", False),
        (True, 500, '{"engine_code":117}', False),
        (True, 500, "Internal Server Error", False),
        (False, 500, "Code: 153. DB::Exception: Division by zero (ILLEGAL_DIVISION)", False),
        (False, 503, '{"code": "store_busy"}', True),
        (False, 503, '{"code": "internal"}', False),
        (False, 500, '{"code": "store_busy"}', False),
        (False, 503, "<html>", False),
    ],
)
def test_only_what_is_documented_may_be_500_or_more(is_clickhouse: bool, status: int, text: str, is_so: bool) -> None:
    assert is_documented(is_clickhouse, status, text) == is_so
