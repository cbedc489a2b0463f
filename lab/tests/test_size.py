"""`make size`: what it counts of the commands is what they are."""

from quiclens_command_line.app import COMMANDS

from quiclens_lab.size import size, texts


def test_the_commands_are_counted() -> None:
    counted = size(texts())["commands"]
    assert counted["quiclens"] == len(COMMANDS)
    assert counted["quiclens-collector"] and counted["quiclens-lab"]


def test_what_lists_its_commands_in_another_way_is_not_told() -> None:
    assert size({})["commands"] == {"quiclens": None, "quiclens-collector": None, "quiclens-lab": 0}


def test_optional_dependencies_and_those_of_development_are_counted() -> None:
    text = """
[project]
dependencies = ["quiclens-schema==0.1", "Typer>=0.9"]
[project.optional-dependencies]
embedded = ["chdb-core==26.9", "typer"]
[dependency-groups]
dev = ["pytest"]
"""
    assert size({"api/pyproject.toml": text})["dependencies"]["python"] == 3
