"""How large the project is: lines, dependencies, commands, tables, options and metrics, of a commit or the work tree.

Counted from the text of tracked files, so that any earlier commit can be measured beside the present one. Data do not
count as lines: cases, lock files, recorded runs, lists of names.
"""

import json
import re
import subprocess
import tomllib
from collections import Counter
from pathlib import Path
from typing import Any

from quiclens_lab.machine import LAB

ROOT = LAB.parent
_LANGUAGES = {
    ".rs": "rust", ".py": "python", ".sql": "sql", ".js": "javascript", ".mjs": "javascript", ".ts": "javascript",
    ".go": "go", ".html": "pages", ".css": "pages", ".toml": "configuration", ".yaml": "configuration",
    ".service": "configuration", ".md": "documents",
}  # fmt: skip
_DATA = re.compile(
    r"^schema/vectors/|-runs/|^schema/clickhouse/schema\.sql$|package-lock\.json$|/go\.sum$|\.lock$|/reviewed_lists/"
)
_TEST = re.compile(r"(^|/)tests?/|_test\.go$")
_PARTS = ("collectors", "schema", "ingest", "api", "dashboards", "deploy", "lab")

Texts = dict[str, str]


def texts(revision: str = "") -> Texts:
    """Tracked text files by path, of a commit; of the work tree without one. LookupError for an unknown commit."""
    if not revision:
        names = _git("ls-files", "-z").split("\0")
        return {name: text for name in names if name and (text := _text(ROOT / name)) is not None}
    listed = _git("ls-tree", "-r", "-z", "--name-only", revision).split("\0")
    names = [name for name in listed if _is_counted(name) or name.endswith(("package.json", "go.mod"))]
    asked = "".join(f"{revision}:{name}\n" for name in names)
    blobs = subprocess.run(
        ["git", "-C", str(ROOT), "cat-file", "--batch"], input=asked.encode(), capture_output=True, check=True
    ).stdout
    found: Texts = {}
    at = 0
    for name in names:
        end = blobs.index(b"\n", at)
        size = int(blobs[at:end].rsplit(b" ", 1)[1])
        found[name] = blobs[end + 1 : end + 1 + size].decode("utf-8", "replace")
        at = end + 2 + size
    return found


def size(files: Texts) -> dict[str, Any]:
    """The figures of one set of files."""
    lines: Counter[str] = Counter()
    tests = 0
    for name, text in files.items():
        if not _is_counted(name):
            continue
        count = sum(1 for line in text.splitlines() if line.strip())
        part = name.split("/")[0]
        if _TEST.search(name):
            tests += count
        elif Path(name).suffix != ".md":
            lines[part if part in _PARTS else "build"] += count
    return {
        "lines": dict(sorted(lines.items())) | {"tests": tests},
        "lines_in_all": lines.total() + tests,
        "dependencies": {kind: len(names) for kind, names in _dependencies(files).items()},
        "commands": _commands(files),
        "tables": len(_tables(files)),
        "options": _options(files),
        "metrics": len(_metrics(files)),
    }


def report(revisions: list[str]) -> dict[str, Any]:
    """The document of `size`: each revision's figures, and those of the work tree last."""
    found = {each: size(texts(each)) for each in revisions}
    return found | {"work tree": size(texts())}


def _is_counted(name: str) -> bool:
    return Path(name).suffix in _LANGUAGES and not _DATA.search(name)


def _text(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return None


def _git(*words: str) -> str:
    done = subprocess.run(["git", "-C", str(ROOT), *words], capture_output=True, text=True, check=False)
    if done.returncode:
        raise LookupError(done.stderr.strip())
    return done.stdout


def _dependencies(files: Texts) -> dict[str, set[str]]:
    """Direct dependencies that are not the project's own, by language; those of tests and tools, and optional ones,
    too."""
    found: dict[str, set[str]] = {"rust": set(), "python": set(), "javascript": set(), "go": set()}
    for name, text in files.items():
        if name.endswith("Cargo.toml") and not name.startswith("lab/"):
            document = tomllib.loads(text)
            for kind in ("dependencies", "dev-dependencies", "build-dependencies"):
                found["rust"] |= {each for each in document.get(kind, {}) if not each.startswith("quiclens")}
        elif name.endswith("pyproject.toml"):
            document = tomllib.loads(text)
            project = document.get("project", {})
            groups = (
                *project.get("optional-dependencies", {}).values(),
                *document.get("dependency-groups", {}).values(),
            )
            named = [*project.get("dependencies", []), *(each for group in groups for each in group)]
            bare = {re.split(r"[^A-Za-z0-9_-]", each)[0].lower() for each in named}
            found["python"] |= {each for each in bare if not each.startswith("quiclens")}
        elif name.endswith("package.json"):
            document = json.loads(text)
            found["javascript"] |= {*document.get("dependencies", {}), *document.get("devDependencies", {})}
        elif name.endswith("go.mod"):
            found["go"] |= set(re.findall(r"^\s+(\S+\.\S+/\S+) v\S+$", text, re.MULTILINE))
    return found


def _commands(files: Texts) -> dict[str, int | None]:
    """By program; None where a revision lists them in another way."""
    cli = files.get("api/command_line/quiclens_command_line/app.py") or files.get("api/quiclens_api/app.py", "")
    listed = re.search(r"commands = \((.*?)\)", cli, re.DOTALL | re.IGNORECASE)
    lab = files.get("lab/quiclens_lab/command_line.py", "")
    agent = files.get("collectors/agent/src/main.rs", "")
    enum = re.search(r"enum Command \{(.*?)\n\}", agent, re.DOTALL)
    return {
        "quiclens": len(re.findall(r"\w+", listed[1])) if listed else None,
        "quiclens-collector": len(re.findall(r"^    [A-Z]\w*[ ({,]", enum[1], re.MULTILINE)) if enum else None,
        "quiclens-lab": lab.count("add_parser("),
    }


def _tables(files: Texts) -> set[str]:
    named = re.compile(r"CREATE TABLE (?:IF NOT EXISTS )?`?(\w+)")
    made = re.compile(r"schema/(clickhouse/migrations/|quiclens_schema/)")
    sources = [text for name, text in files.items() if made.match(name)]
    return {table for text in sources for table in named.findall(text)}


def _options(files: Texts) -> dict[str, int]:
    """Options of the commands, and keys of configuration files."""
    of_commands = ("api/command_line/", "api/quiclens_api/")
    typer = sum(text.count("typer.Option(") for name, text in files.items() if name.startswith(of_commands))
    keys = sum(
        len(re.findall(r"^    pub [a-z_]+: ", text, re.MULTILINE))
        for name, text in files.items()
        if name.startswith("collectors/") and re.search(r"(^|/)(config|keep)\.rs$", name)
    )
    ingest = len(re.findall(r"^    [a-z_]+: .* = ", files.get("ingest/quiclens_ingest/settings.py", ""), re.MULTILINE))
    return {"quiclens": typer, "collector": keys, "ingest": ingest}


_METRICS = (
    (re.compile(r"metrics\.py$"), re.compile(r"\b[cC]ounter\(\s*(?:prefix \+ )?\"(\w+)\"")),
    (re.compile(r"metrics\.py$"), re.compile(r"\b[gG]auge\(\s*(?:prefix \+ )?\"(\w+)\"")),
    (re.compile(r"metrics\.py$"), re.compile(r"\b[hH]istogram\(\s*(?:prefix \+ )?\"(\w+)\"")),
    (re.compile(r"^collectors/.*\.rs$"), re.compile(r"\badd\(\s*\w+,\s*\"(\w+)\"")),
)


def _metrics(files: Texts) -> set[str]:
    """Names of metrics, each with the file that has it."""
    return {
        f"{name}:{metric}"
        for name, text in files.items()
        if not _TEST.search(name)
        for where, said in _METRICS
        if where.search(name)
        for metric in said.findall(text)
    }
