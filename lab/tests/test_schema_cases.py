"""A slice of `quiclens-lab schema-cases`, and that it goes on where it ended."""

from pathlib import Path

from quiclens_lab.schema_cases import ROLES, schema_cases


def test_no_question_of_any_role_is_answered_as_it_must_not_be(tmp_path: Path) -> None:
    document = schema_cases(600, tmp_path, lambda done, of: None, chunk=3)
    assert document["passes"], document["failures"]
    assert document["cases"] >= 600 and document["failed"] == 0
    assert all(document["answers"][role] for role in ROLES)
    assert document["answers"]["reader"].get("200", 0) > 20
    assert set(document["answers"]["uploader"]) == {"403", "422"}  # files by chance have no event
    assert set(document["answers"]["nobody"]) <= {"401", "404", "405", "403", "200"}

    kept = tmp_path / "schema-cases.jsonl"
    before = kept.read_text()
    kept.write_text(before + '{"round": 7, "role"')  # a run that was killed as it wrote
    again = schema_cases(600, tmp_path, lambda done, of: None, chunk=3)
    assert again["cases"] == document["cases"] and again["answers"] == document["answers"]
