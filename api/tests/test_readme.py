"""Every command line that the README shows works on a store."""

import re
from pathlib import Path

import pytest
from api_ran import Run
from api_seed import A
from serve_process import Served

README = Path(__file__).parents[1] / "README.md"
# What needs a collector, traffic or somebody's files: their options are checked, they are not run.
_NOT_RUN = ("demo", "load", "check", "export", "serve")


def examples() -> list[str]:
    blocks = re.findall(r"^```\n(.*?)^```", README.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    lines = [line for block in blocks for line in block.splitlines() if line.startswith("quiclens ")]
    return [re.split(r"\s{2,}", line)[0] for line in lines]


@pytest.mark.parametrize("example", examples())
def test_an_example_of_the_readme_runs(run: Run, example: str) -> None:
    command, *words = example.replace("REQUEST_ID", f"{A}/4").replace("CONNECTION_ID", A).split()[1:]
    if command in _NOT_RUN:
        told = run(command, "--help").out
        assert all(word in told for word in words if word.startswith("-")), example
        return
    ran = run(command, *words, "--json")
    assert ran.code in (0, 1) and "error" not in ran.document, ran.err


def test_the_readmes_python_runs_against_a_server(served: Served) -> None:
    (block,) = re.findall(r"^```python\n(.*?)^```", README.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    exec(compile(block.replace("8123", str(served.port)), str(README), "exec"), {})


def test_the_readme_has_examples() -> None:
    assert len(examples()) >= 10
