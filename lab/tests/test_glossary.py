"""One name, one idea: schema/glossary.toml over the whole tree."""

import ast
import re
import shutil
import subprocess
import tomllib
from collections import defaultdict
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
GLOSSARY = tomllib.loads((ROOT / "schema" / "glossary.toml").read_text(encoding="utf-8"))
TWICE_AT_MOST = 10
# What was is told there, and here is what may not return.
_EXCEPT = ("CHANGELOG.md", "schema/glossary.toml", "lab/tests/test_glossary.py")


def _files(*endings: str) -> list[Path]:
    """The project's own files of these kinds."""
    if shutil.which("git") is None:
        pytest.skip("no git")
    done = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode != 0 or not done.stdout:
        pytest.skip("no checkout")
    names = [name for name in done.stdout.split("\0") if name.endswith(endings) and name not in _EXCEPT]
    return [ROOT / name for name in names if (ROOT / name).is_file()]


def test_no_name_that_is_gone_returns() -> None:
    gone = [(re.compile(each["name"]), each["say"]) for each in GLOSSARY["gone"]]
    found = []
    for path in _files(".py", ".rs", ".js", ".sql", ".md", ".toml", ".html"):
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            for name, say in gone:
                if name.search(line):
                    found.append(f"{path.relative_to(ROOT)}:{number}: {line.strip()[:80]!r}; say: {say}")
    assert not found, "\n".join(found)


def test_no_type_has_the_name_of_another() -> None:
    places: dict[str, set[str]] = defaultdict(set)
    for path in _files(".py"):
        if "/tests/" in str(path):
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                places[node.name].add(str(path.relative_to(ROOT)))
    twice = {name: sorted(where) for name, where in places.items() if len(where) > 1}
    allowed = {each["name"]: each["reason"] for each in GLOSSARY.get("twice", [])}
    assert len(allowed) <= TWICE_AT_MOST and all(allowed.values())
    assert twice.keys() == allowed.keys(), twice
    assert len(places) > 400  # the files are there
