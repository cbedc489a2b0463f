"""Every command line that a document shows works on a store."""

import re
from pathlib import Path

import pytest
from api_ran import Run
from api_seed import A
from serve_process import Served

ROOT = Path(__file__).parents[2]
README = ROOT / "api" / "README.md"
TEXTS = sorted(
    {
        ROOT / "README.md",
        ROOT / "SECURITY.md",
        ROOT / "CONTRIBUTING.md",
        *ROOT.glob("*/README.md"),
        *(ROOT / "deploy").glob("**/*.md"),
    }
)
# What needs a collector, traffic, somebody's files or a broker: their options are checked, they are not run.
_NOT_RUN = ("demo", "load", "lines", "check", "export", "serve", "ingest", "migrate", "erase")


def _is_ours(line: str) -> bool:
    return line.startswith("quiclens ") and "…" not in line


def examples() -> list[str]:
    """Lines of blocks, which are commands as they are typed."""
    found = []
    for path in TEXTS:
        blocks = re.findall(r"^```(?:sh)?\n(.*?)^```", path.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
        lines = [line for block in blocks for line in block.splitlines() if _is_ours(line)]
        found += [re.split(r"\s{2,}", line)[0] for line in lines]
    return sorted(set(found))


def mentions() -> list[str]:
    """Commands within sentences, which may leave out what is clear there."""
    found = [each for path in TEXTS for each in re.findall(r"`(quiclens [^`\n]+)`", path.read_text(encoding="utf-8"))]
    return sorted(
        {each for each in found if not each.startswith(("quiclens line v1", "quiclens at"))}
    )  # a format, a log


@pytest.mark.parametrize("example", examples())
def test_an_example_runs(run: Run, example: str) -> None:
    known = example.replace("77b0af4b7e4b0161/8", "REQUEST_ID").replace("77b0af4b7e4b0161", "CONNECTION_ID")
    command, *words = known.replace("REQUEST_ID", f"{A}/4").replace("CONNECTION_ID", A).split()[1:]
    if command in _NOT_RUN or "--brokers" in words:
        check(run, command, words)
        return
    ran = run(command, *words, "--json")
    assert ran.code in (0, 1) and "error" not in ran.document, ran.err


@pytest.mark.parametrize("mention", mentions())
def test_a_command_that_is_mentioned_is_there_with_its_options(run: Run, mention: str) -> None:
    command, *words = re.sub(r"[,;…]", " ", mention).split()[1:]
    if not command.startswith("-"):
        check(run, command, words)


def check(run: Run, command: str, words: list[str]) -> None:
    ran = run(command, "--help")
    assert ran.code == 0, command
    told = set(re.findall(r"--[a-z-]+", ran.out))
    if command == "report":
        told |= set(re.findall(r"--[a-z-]+", run(command, words[0], "--help").out)) if words else set()
    asked = {word.partition("=")[0] for word in words if word.startswith("--")}
    assert asked <= told, asked - told


def test_the_readmes_python_runs_against_a_server(served: Served) -> None:
    (block,) = re.findall(r"^```python\n(.*?)^```", README.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    exec(compile(block.replace("8123", str(served.port)), str(README), "exec"), {})


def test_the_readme_has_examples() -> None:
    assert len(examples()) >= 10
