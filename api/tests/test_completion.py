"""What a shell offers at Tab, and the manual page."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from quiclens_schema.catalogue import CAUSES

from quiclens_command_line.app import COMMANDS
from quiclens_command_line.man_page import man_page
from quiclens_questions.reports import REPORTS

PAGE = Path(__file__).parents[1] / "command_line" / "quiclens.1"


def offered(shell: str, line: str) -> list[str]:
    """What the command offers for the last word of a line."""
    words = line.split(" ")
    asked = {"_QUICLENS_COMPLETE": f"complete_{shell}"}
    if shell == "bash":
        asked |= {"COMP_WORDS": line, "COMP_CWORD": str(len(words) - 1)}
    else:
        asked |= {"_TYPER_COMPLETE_ARGS": line, "_TYPER_COMPLETE_FISH_ACTION": "get-args"}
    command = [sys.executable, "-m", "quiclens_command_line"]
    return subprocess.run(command, env=os.environ | asked, capture_output=True, text=True, check=True).stdout.split(
        "\n"
    )


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("quiclens re", ["report", "retention"]),
        ("quiclens slow --mi", ["--min-ms"]),
        ("quiclens slow --where carr", ["carrier"]),
        ("quiclens report use", ["use-rate"]),
        ("quiclens report tail --by carrier,network_t", ["carrier,network_type"]),
        ("quiclens report loss --by weekd", ["weekday"]),
        ("quiclens report tail --without pt", ["pto"]),
    ],
)
def test_each_shell_is_offered_what_the_command_knows(line: str, words: list[str]) -> None:
    assert "pto" in CAUSES and "use-rate" in REPORTS
    for shell in ("bash", "fish"):
        assert [each.partition("\t")[0] for each in offered(shell, line) if each] == words, shell
    said = "".join(offered("zsh", line))
    assert all(f'"{word}"' in said for word in words)


@pytest.mark.skipif(not shutil.which("bash"), reason="no bash")
def test_bash_completes_a_line(tmp_path: Path) -> None:
    """With the script that the command itself gives, in a real shell."""
    program = tmp_path / "quiclens"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m quiclens_command_line "$@"\n')
    program.chmod(0o755)
    script = (
        'eval "$(quiclens --show-completion)"; COMP_WORDS=(quiclens report tail --by re); COMP_CWORD=4; '
        '_quiclens_completion quiclens; echo "${COMPREPLY[@]}"'
    )
    path = f"{tmp_path}:{os.environ['PATH']}"
    ran = subprocess.run(
        ["bash", "-c", script], env=os.environ | {"PATH": path}, capture_output=True, text=True, check=True
    )
    assert {"region", "request_number"} <= set(ran.stdout.split())


def test_the_manual_page_is_what_the_commands_say() -> None:
    text = man_page()
    assert PAGE.read_text(encoding="utf-8") == text, "make man"
    assert all(f".SS quiclens {name} " in text for name in COMMANDS)
    assert r".B \-\-min\-ms N" in text


@pytest.mark.skipif(not shutil.which("groff"), reason="no groff")
def test_the_manual_page_is_sound() -> None:
    ran = subprocess.run(["groff", "-man", "-Tutf8", "-ww", str(PAGE)], capture_output=True, text=True, check=True)
    assert not ran.stderr and "quiclens slow --by carrier" in ran.stdout
