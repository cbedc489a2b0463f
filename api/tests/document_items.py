"""What the documents show: blocks of code line by line where they are commands, and commands, SQL and settings within
sentences."""

import re
import shlex
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

from markdown_it import MarkdownIt
from markdown_it.token import Token

ROOT = Path(__file__).resolve().parents[2]

Form = Literal["block", "line", "inline"]

# A line of cron is a command with its schedule before it.
_CRON = re.compile(r"(?:[\d*/,-]+ ){4}[\d*/,-]+ +")
_SHELL = ("", "sh")
_PICTURE = re.compile("[►─█]")
# The first word of a command, as it is typed.
_PROGRAMS = {
    "quiclens": "quiclens",
    ".venv/bin/quiclens": "quiclens",
    "quiclens-collector": "collector",
    "quiclens-lab": "lab",
    ".venv/bin/quiclens-lab": "lab",
    "python -m quiclens_lab": "lab",
    "python -m quiclens_ingest.broker": "broker",
    "make": "make",
    "cargo": "cargo",
    "go": "go",
    **dict.fromkeys(
        ("python", "pip", "uv", "npm", "node", "git", "docker", "podman", "openssl", "systemctl", "systemd-analyze",
         "head", "chmod", "cp", "echo", "install", "useradd", "curl", "apt", ".venv/bin/pytest",
         "deploy/containers/secrets",
         "hq", "gtlsserver", "nghttpx", "picoquicdemo", "caddy", "target/tquic/release/tquic-traces",
         "target/noq/release/noq-traces", "target/quicgo-lab", "../../target/quinn/release/quinn-traces",
         "../../target/noq/release/noq-traces", "../../target/quicgo-lab"),
        "shell",
    ),
}  # fmt: skip
_SQL = re.compile(r"(SELECT|INSERT|GRANT|KILL|CREATE|ALTER|SET|EXPLAIN|WITH|DROP|DELETE) ")
_SETTING = re.compile(r'\[\[?[a-z][a-z_.]*\]\]?( [a-z_]+)?$|[a-z][a-z_."]* = .+$|[A-Z][A-Z_]{2,}=.*$|[a-z_]+=\w+$')
# A format, a variable of the dashboards, what stands in rows. So is a word for a value on both sides: NAME=PASSWORD.
_ONLY_WORDS = ("quiclens line v1", "quiclens at", "[redacted]")
# Of a unit of systemd.
_DIRECTIVE = re.compile(r"[A-Z][a-z]+[A-Za-z]*=\S*$")
# Within a sentence the program may be left out where its page is of that program alone.
_OF_FOLDER = {"collectors": "collector", "lab": "lab", "dashboards": "quiclens"}
_LEFT_OUT = {
    "collector": re.compile(r"(run|check|dump|load|bench|export) (--|[A-Z]{3}|<)"),
    "lab": re.compile(r"(one|truth|damage|faults|front|freshness|live|demo|audit) --"),
    "quiclens": re.compile(r"(load|export|migrate|report|serve|erase|slow) --"),
}


@dataclass(frozen=True)
class Item:
    """One thing of a document that somebody can type, run or set."""

    page: str
    at_line: int
    form: Form
    kind: str
    text: str
    beside: str  # the sentences around it

    def __str__(self) -> str:
        return f"{self.page}:{self.at_line} {self.text.splitlines()[0]}"


@cache
def pages() -> tuple[str, ...]:
    """All Markdown that git has."""
    done = subprocess.run(["git", "ls-files", "*.md"], cwd=ROOT, capture_output=True, text=True, check=True)
    return tuple(sorted(page for page in done.stdout.splitlines() if (ROOT / page).is_file()))


@cache
def items() -> tuple[Item, ...]:
    """All of all pages, in their order."""
    return tuple(item for page in pages() for item in of_text(page, (ROOT / page).read_text(encoding="utf-8")))


def of_text(page: str, text: str) -> Iterator[Item]:
    """What one page shows."""
    tokens = MarkdownIt("commonmark").enable("table").parse(text)
    for place, token in enumerate(tokens):
        if token.type in ("fence", "code_block"):
            before = [each.content for each in tokens[:place] if each.type == "inline"][-1:]
            after = [each.content for each in tokens[place:] if each.type == "inline"][:1]
            yield from _of_block(page, token, "\n".join(before + after))
        elif token.type == "inline":
            at = (token.map or [0])[0] + 1
            for child in token.children or []:
                if child.type == "code_inline" and (kind := _kind_within(page, child.content)):
                    yield Item(page, at, "inline", kind, child.content, token.content)


def command_of(line: str) -> str:
    """The command of a line: what stands behind two blanks says what it does."""
    line = line.removeprefix("$ ")
    schedule = _CRON.match(line)
    rest = line[schedule.end() :] if schedule else line
    return re.split(r"\s{2,}", rest)[0].rstrip()


def _of_block(page: str, token: Token, beside: str) -> Iterator[Item]:
    at = (token.map or [0])[0] + (2 if token.type == "fence" else 1)
    if kind := _kind_of_block(token):
        yield Item(page, at, "block", kind, token.content, beside)
        return
    for number, line in enumerate(token.content.splitlines()):
        if line.strip():
            command = command_of(line.strip())
            yield Item(page, at + number, "line", _program(command) or "unknown", command, beside)


def _kind_of_block(token: Token) -> str | None:
    """What a block is as a whole, or None where each of its lines is a command."""
    if token.info.strip() not in _SHELL:
        return token.info.strip()
    starts = {"$ ": "output", "POST /": "http", "{": "frames"}
    begun = next((kind for start, kind in starts.items() if token.content.startswith(start)), None)
    is_picture = not token.info and _PICTURE.search(token.content)
    return begun or ("picture" if is_picture else None)


def _program(command: str) -> str | None:
    """Who runs it, by its first word or words; variables before it do not count."""
    words = shlex.split(command) if command.count("'") % 2 == command.count('"') % 2 == 0 else command.split()
    while words and re.match(r"[A-Z_]+=", words[0]):
        words = words[1:]
    if "&&" in words:  # a chain is the shell's
        return "shell"
    program = _PROGRAMS.get(" ".join(words[:3])) or _PROGRAMS.get("".join(words[:1]))
    asks_one = "--brokers" in words or {"status", "--config"} <= set(words)
    needs_broker = program == "quiclens" and asks_one and words[-1] != "…"
    return "kafka" if needs_broker else program


def _kind_within(page: str, text: str) -> str | None:
    """What a word of code within a sentence is, or None where it only names something."""
    command = command_of(text)
    if re.fullmatch(r"\.?[\w-]+(/[\w.-]+)*", text) and text != "deploy/containers/secrets":
        return None  # one word is a name
    if text.startswith(_ONLY_WORDS) or re.fullmatch(r"[A-Z_]+=[A-Z_]+", text):
        return None
    if program := _program(command):
        return program
    if _SQL.match(text):
        return "sql"
    if _DIRECTIVE.match(text):
        return "directive"
    if _SETTING.match(text):
        return "setting"
    program = _OF_FOLDER.get(page.split("/")[0], "quiclens")
    return program if _LEFT_OUT[program].match(text) else None
