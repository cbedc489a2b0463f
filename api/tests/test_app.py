"""The command line as a whole: every command is there, and the help of all waits for the libraries of none."""

import re
import subprocess
import sys

import pytest
from api_ran import Run

from quiclens_command_line.app import COMMANDS

HEAVY = (
    "fastapi",
    "pydantic",
    "clickhouse_connect",
    "numpy",
    "pyarrow",
    "uvicorn",
    "rich",
    "quiclens_command_line.commands",
    "quiclens_web",
    "quiclens_store_server",
)


def test_the_help_of_all_commands_shows_what_each_says_of_itself(run: Run) -> None:
    listed = run("--help").out.partition("Commands:\n")[2]
    told = {name: " ".join(text.split()) for name, text in re.findall(r"(?ms)^  (\w+)(.*?)(?=^  \w|\Z)", listed)}
    assert list(told) == list(COMMANDS)
    for name in COMMANDS:
        own = " ".join(run(name, "--help").out.split())
        assert f"Usage: quiclens {name} " in own
        assert told[name].endswith(".") and told[name] in own


@pytest.mark.parametrize("option", ["--help", "--version"])
def test_what_commands_need_is_not_imported_to_tell_of_them(option: str) -> None:
    run_it = f"from quiclens_command_line.main import main; main([{option!r}])"
    code = f"import sys; {run_it}; print(*sys.modules, file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "quiclens" in done.stdout
    loaded = {module for module in done.stderr.split() if module.startswith(HEAVY)}
    assert not loaded
