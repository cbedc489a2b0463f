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
_RUST_TYPE = re.compile(r"^( *)(?:pub(?:\([^)]*\))? )?(struct|enum|trait|type|union) (\w+)", re.MULTILINE)
_RUST_ASSOCIATES = re.compile(r" *(?:pub(?:\([^)]*\))? )?(?:unsafe )?(?:impl|trait)\b")
_RUST_TESTS = re.compile(r"^#\[cfg\(test\)\]\n(?:#\[.*\]\n)*mod tests\b", re.MULTILINE)


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


def _rust_types(source: str) -> set[str]:
    """Names of the types that a source of Rust defines outside of its tests; associated types are none."""
    tests = _RUST_TESTS.search(source)
    text = source[: tests.start()] if tests else source
    found = set()
    for match in _RUST_TYPE.finditer(text):
        before = reversed(text[: match.start(2)].splitlines()[:-1])
        # The item that it stands in: the nearest line above with less indent, but for the lines of a `where`.
        less = re.compile(rf" {{0,{len(match[1]) - 1}}}[^\s{{w]" if match[1] else "$.")
        outer = next((line for line in before if less.match(line)), "")
        if match[2] != "type" or not _RUST_ASSOCIATES.match(outer):
            found.add(match[3])
    return found


def test_types_of_rust_are_found_and_those_of_tests_and_impls_are_not() -> None:
    source = """
pub(super) struct First;

pub trait Second {
    type Associated;
}

impl Second for First {
    /// Likewise.
    type Associated = Self;
}

impl<T> Second for Generic<T>
where
    T: Second,
{
    type Associated = T;
}

fn third() {
    enum Third {}
    type Fourth = u8;
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    struct OfTests;
}
"""
    assert _rust_types(source) == {"First", "Second", "Third", "Fourth"}


def test_no_type_of_rust_has_the_name_of_another() -> None:
    places: dict[str, set[str]] = defaultdict(set)
    for path in _files(".rs"):
        name = str(path.relative_to(ROOT))
        if "/tests/" not in name and "/benches/" not in name:
            for each in _rust_types(path.read_text(encoding="utf-8")):
                places[each].add(name)
    twice = {name: sorted(where) for name, where in places.items() if len(where) > 1}
    allowed = {each["name"]: each["reason"] for each in GLOSSARY.get("twice_rust", [])}
    assert len(allowed) <= TWICE_AT_MOST and all(allowed.values())
    assert twice.keys() == allowed.keys(), twice
    assert len(places) > 400  # the files are there
