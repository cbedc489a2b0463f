"""A slice of `quiclens-lab schema-cases`, and that it goes on where it ended."""

import json
from pathlib import Path

from quiclens_schema.served import OPERATION_PATH, ROWS_PATH

from quiclens_lab.schema_cases import ROLES, schema_cases


def test_no_question_of_any_role_is_answered_as_it_must_not_be(tmp_path: Path) -> None:
    document = schema_cases(1000, tmp_path, lambda done, of: None, chunk=2)
    assert document["passes"], document["failures"]
    assert document["cases"] >= 1000 and document["failed"] == 0
    assert all(document["answers"][role] for role in ROLES)
    assert document["answers"]["reader"].get("200", 0) > 20
    operations = {
        each["operation"] for each in map(json.loads, (tmp_path / "schema-cases.jsonl").read_text().splitlines())
    }
    assert {"GET /api/v1/requests", "pages GET /", "pages POST /login", "interface POST /"} <= operations
    assert {f"store POST {path}" for path in (ROWS_PATH, OPERATION_PATH)} <= operations

    kept = tmp_path / "schema-cases.jsonl"
    before = kept.read_text()
    kept.write_text(before + '{"round": 7, "role"')  # a run that was killed as it wrote
    again = schema_cases(1000, tmp_path, lambda done, of: None, chunk=2)
    assert again["cases"] == document["cases"] and again["answers"] == document["answers"]
