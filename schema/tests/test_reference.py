"""The reference of the schema is what the catalogue makes."""

from pathlib import Path

from quiclens_schema.catalogue import load
from quiclens_schema.reference import reference

PAGE = Path(__file__).resolve().parents[2] / "deploy" / "docs" / "schema.md"


def test_the_reference_is_that_of_the_catalogue() -> None:
    assert PAGE.read_text(encoding="utf-8") == "\n".join(reference(load())) + "\n", "make man"
