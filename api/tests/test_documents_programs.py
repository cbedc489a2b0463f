"""Commands of other programs than `quiclens`: run where they take seconds, else looked at, as `documents.toml` says."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from document_cover import left_to
from document_items import ROOT, Item, items
from quiclens_lab.command_line import parser
from quiclens_lab.release import PARTS, wheel_of
from serve_process import Served

BIN = Path(sys.executable).parent
COLLECTOR = Path(os.environ.get("QUICLENS_COLLECTOR", ROOT / "target/release/quiclens-collector"))
TRACE = ROOT / "schema" / "vectors" / "aioquic_clean_server" / "input.qlog"
needs_collector = pytest.mark.skipif(not COLLECTOR.is_file(), reason="no quiclens-collector: cargo build --release")


def shell(command: str, folder: Path, **environment: str) -> str:
    """What a command line says, as bash runs it in a folder with our programs on the path."""
    path = f"{folder / 'bin'}:{BIN}:{COLLECTOR.parent.resolve()}:{os.environ['PATH']}"
    given = {**os.environ, "PATH": path, **environment}
    words = ["bash", "-euo", "pipefail", "-c", command]
    done = subprocess.run(words, cwd=folder, env=given, capture_output=True, check=False, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.decode(errors="replace")


def only(page: str, begins: str) -> str:
    """The command of a page that begins so."""
    (found,) = {item.text for item in left_to("shell") if item.page == page and item.text.startswith(begins)}
    return found


# What each test below runs, by its page and how it begins: another command of the shell is run by none.
_SHELL = {
    ("CONTRIBUTING.md", ".venv/bin/pytest"), ("README.md", "pip"), ("deploy/README.md", "pip"),
    ("api/README.md", "openssl"), ("dashboards/README.md", "python"), ("deploy/README.md", "systemctl"),
    ("deploy/docs/servers/README.md", "head"), ("deploy/docs/servers/README.md", "install"),
    ("lab/README.md", "quiclens-lab"), ("lab/noq/README.md", "../../target/noq/release/noq-traces"),
    ("lab/quicgo/README.md", "../../target/quicgo-lab"),
    ("lab/quinn/README.md", "../../target/quinn/release/quinn-traces"),
    ("lab/tquic/README.md", "target/tquic/release/tquic-traces"),
}  # fmt: skip


def test_each_command_of_the_shell_has_its_test() -> None:
    assert {(item.page, item.text.split()[0]) for item in left_to("shell")} == _SHELL
    enabling = [item.text for item in left_to("shell") if item.text.startswith("systemctl ")]
    assert all(text.startswith("systemctl enable ") for text in enabling)


# make: a dry run tells whether the target is there and whether all that it is made of can be.
@pytest.mark.parametrize("command", sorted({item.text for item in left_to("make")}))
def test_make_would_run_it(command: str) -> None:
    words = shlex.split(command)
    done = subprocess.run([words[0], "--dry-run", *words[1:]], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def crate_folder(item: Item) -> Path:
    """Where a cargo or go command of a page is typed."""
    folder = (ROOT / item.page).parent
    return folder if any((folder / name).exists() for name in ("Cargo.toml", "go.mod")) else ROOT


@pytest.mark.parametrize("item", left_to("cargo"), ids=str)
def test_cargo_knows_what_is_named(item: Item) -> None:
    folder = crate_folder(item)
    # A command below collectors/ is typed in the workspace.
    words = ["cargo", "metadata", "--no-deps", "--offline", "--format-version", "1"]
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=True)
    packages = json.loads(done.stdout)["packages"]
    targets = [target for package in packages for target in package["targets"]]
    given = re.sub(r"^(\w+=(\"[^\"]*\"|\S*) )+", "", item.text).partition(" -- ")[0].split()
    assert given[1] in ("build", "run", "test")
    for option, value in pairwise(given):
        if option in ("-p", "--package"):
            lock = tomllib.loads(
                (folder / "Cargo.lock" if (folder / "Cargo.lock").exists() else ROOT / "Cargo.lock").read_text(
                    encoding="utf-8"
                )
            )
            assert value in {package["name"] for package in lock["package"]}
        elif option in ("--bin", "--example"):
            assert value in {target["name"] for target in targets if option[2:] in target["kind"]}
    told = subprocess.run(["cargo", given[1], "--help"], capture_output=True, text=True, check=True).stdout
    assert {word for word in given if word.startswith("--")} <= set(re.findall(r"--[a-z-]+", told))
    if given[-1].startswith("simulation"):
        assert re.search(rf"fn {given[-1]}\w*\(|mod {given[-1]}", sources("collectors/agent")), given[-1]


def sources(folder: str) -> str:
    return "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / folder).rglob("*.rs"))


@pytest.mark.skipif(shutil.which("go") is None, reason="no go")
@pytest.mark.parametrize("item", [*left_to("go", "line"), *left_to("go", "inline")], ids=str)
def test_go_would_run_it(item: Item) -> None:
    """`-n` tells the commands and runs none; of versions/vX.mod the one is taken that is newest."""
    newest = max(path.name for path in (ROOT / "lab" / "quicgo" / "versions").glob("v*.mod"))
    words = item.text.replace("vX.mod", newest).split()
    command = [*words[:2], "-n", *[word for word in words[2:] if word != "-mod=mod"]]
    done = subprocess.run(command, cwd=crate_folder(item), capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr[-2000:]


_LAB_VALUES = {
    "DIR": "dir", "FILE": "file", "NUMBER": "1", "N": "1", "S": "1", "NAME": "", "X": "think", "TABLES": "injection",
    "PLANT": "",
}  # fmt: skip


def lab_words(text: str) -> list[str]:
    """The words of a command of the lab with all its options, the first of several values, and a value for each name.
    An option whose value is a name from a list is left out; its page has the list."""
    text = re.sub(r"^(python -m quiclens_lab|(\.venv/bin/)?quiclens-lab) ", "", text)
    words = re.sub(r"[\[\]…]", " ", text).split()
    given = [_LAB_VALUES.get(word, word.partition("|")[0].replace("DIR", "dir")) for word in words]
    return [word for word, after in zip(given, [*given[1:], "x"], strict=True) if word and after]


# lab: minutes to hours each; the parser that they have tells whether the command is there and takes these options.
@pytest.mark.parametrize("text", sorted({item.text for item in left_to("lab")}))
def test_the_lab_has_the_command_and_its_options(text: str) -> None:
    words = lab_words(text)
    if len(words) == 1 or text == "one --without":  # a name in a sentence
        words += ["--help"]
        with pytest.raises(SystemExit) as ended:
            parser().parse_args(words)
        assert ended.value.code == 0
    else:
        parser().parse_args(words)


@needs_collector
@pytest.mark.parametrize("text", sorted({item.text for item in left_to("collector")}))
def test_the_collector_does_it(text: str, tmp_path: Path) -> None:
    text = text.removeprefix("quiclens-collector ")
    (tmp_path / "logs").mkdir()
    for name in ("server.qlog", "logs/server.qlog"):
        shutil.copy(TRACE, tmp_path / name)
    (tmp_path / "access.jsonl").write_text('{"time":"2026-11-20T10:00:00Z","path":"/"}\n', encoding="utf-8")
    shell("gzip -c server.qlog > x", tmp_path)
    config = f'state_dir = "{tmp_path}/state"\ntraces = ["{tmp_path}/logs"]\n'
    config += f'[sink]\nkind = "files"\nfolder = "{tmp_path}/o"\n'
    (tmp_path / "collector.toml").write_text(config, encoding="utf-8")
    names = {"/etc/quiclens/collector.toml": "collector.toml", "CONFIG": "collector.toml", "FILE": "collector.toml"}
    command, *words = text.split(" ", 1)
    if command == "run" or (words and words[0].startswith("--requests-format")):  # it does not end; half of a command
        assert set(re.findall(r"--[a-z-]+", text)) <= set(re.findall(r"--[a-z-]+", shell(
            f"{COLLECTOR.resolve()} {command} --help", tmp_path)))  # fmt: skip
        return
    for name, here in names.items():
        text = text.replace(name, here)
    said = shell(f"{COLLECTOR.resolve()} {text}", tmp_path)
    assert said or "--quiet" in text


def test_a_secret_is_made_as_the_page_makes_it(tmp_path: Path) -> None:
    page, secret = "deploy/docs/servers/README.md", tmp_path / "client_secret"
    user = re.findall(r"(?m)^User=(\w+)$", (ROOT / "deploy/systemd/quiclens-collector.service").read_text())
    making, filling = (only(page, begins).replace("/etc/quiclens", str(tmp_path)) for begins in ("install ", "head "))
    assert re.findall(r" -g (\w+) ", making) == user, "its unit could not read it"
    shell(making.replace(f"-g {user[0]}", f"-g {os.getgid()}"), tmp_path)
    assert secret.stat().st_mode & 0o777 == 0o640, "before there is anything to read"
    shell(filling, tmp_path)
    assert secret.stat().st_mode & 0o777 == 0o640 and len(secret.read_bytes()) >= 16


@pytest.mark.skipif(shutil.which("openssl") is None, reason="no openssl")
def test_openssl_makes_a_token_that_is_long_enough(tmp_path: Path) -> None:
    assert len(shell(only("api/README.md", "openssl "), tmp_path).strip()) >= 16


@pytest.mark.long
def test_pytest_finds_the_tests_that_are_named() -> None:
    command = only("CONTRIBUTING.md", ".venv/bin/pytest ").split()
    words = [sys.executable, "-m", "pytest", *command[1:], "--collect-only", "-q"]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0 and done.stdout.count("::") > 20, done.stdout[-2000:]


def test_the_dashboards_are_written_and_compared(tmp_path: Path) -> None:
    """In a copy; that what is committed is the same, `make check` holds."""
    shutil.copytree(ROOT / "dashboards", tmp_path / "dashboards", ignore=shutil.ignore_patterns("__pycache__"))
    commands = sorted({item.text for item in left_to("shell") if item.text.startswith("python -m quiclens_dashboards")})
    assert commands == ["python -m quiclens_dashboards", "python -m quiclens_dashboards --check"]
    (victim,) = list((tmp_path / "dashboards").rglob("tail-latency.json")) or [
        min((tmp_path / "dashboards").rglob("generated/*.json"))
    ]
    before = victim.read_bytes()
    victim.write_bytes(b"{}")
    for command in commands:
        shell(command, tmp_path / "dashboards", PYTHONPATH=str(tmp_path / "dashboards"))
    assert victim.read_bytes() == before


def test_wheels_are_installed_as_the_readme_says(tmp_path: Path) -> None:
    """Those of our parts, without what they need from elsewhere, into an environment of their own."""
    (command,) = {item.text for item in left_to("shell") if item.text.startswith("pip ")}
    for part in PARTS:
        wheel_of(ROOT / part, tmp_path / "dist")
    subprocess.run(["python3", "-m", "venv", tmp_path / "venv"], check=True)
    (tmp_path / "bin").symlink_to(tmp_path / "venv" / "bin")
    shell(command, tmp_path, PIP_NO_DEPS="1", PIP_NO_INDEX="1", PIP_DISABLE_PIP_VERSION_CHECK="1")
    installed = {path.name for path in tmp_path.glob("venv/lib/*/site-packages/quiclens_*") if path.suffix == ""}
    parts = {*PARTS, "questions", "web", "store_server", "command_line"} - {"api"}
    assert {f"quiclens_{part}" for part in parts} <= installed and (tmp_path / "bin" / "quiclens").is_file()


@pytest.mark.skipif(shutil.which("systemctl") is None, reason="no systemctl")
@pytest.mark.parametrize(
    "command", sorted({item.text for item in left_to("shell") if item.text.startswith("systemctl enable")})
)
def test_systemd_enables_the_unit(command: str, tmp_path: Path) -> None:
    """Below a root of its own, where nothing can be started `--now`."""
    units = tmp_path / "etc" / "systemd" / "system"
    shutil.copytree(ROOT / "deploy" / "systemd", units)
    *_, unit = command.split()
    shell(command.replace("systemctl ", f"systemctl --root={tmp_path} ").replace("--now ", ""), tmp_path)
    assert [link.name.partition(".")[0] for link in units.rglob("*.wants/*")] == [unit.partition(".")[0]]


@needs_collector
def test_logs_of_an_edge_are_made_and_loaded(tmp_path: Path) -> None:
    store = f"chdb:{tmp_path / 'store'}"
    command = only("lab/README.md", "quiclens-lab operations")
    shell(command, tmp_path, QUICLENS_STORE=store, QUICLENS_COLLECTOR=str(COLLECTOR.resolve()))
    told = json.loads(shell("quiclens slow --json", tmp_path, QUICLENS_STORE=store))
    assert told["coverage"]["requests"] > 100


_PROGRAMS = ("target/", "../../target/")


@pytest.mark.parametrize("item", [each for each in left_to("shell") if each.text.startswith(_PROGRAMS)], ids=str)
def test_a_program_of_the_lab_makes_traces_where_it_is_built(item: Item, tmp_path: Path) -> None:
    program = item.text.split()[0].removeprefix("../../")
    if not (ROOT / program).is_file():
        pytest.skip(f"no {program}: its page says how it is built")
    known = re.sub(r"\S+", str(ROOT / program), item.text, count=1).replace("DIR", str(tmp_path / "traces"))
    known = re.sub(r"(seeds \d+)-\d+", r"\1", known)  # one is enough
    # Where its page is: a binary of tests wants to be.
    shell(known.replace("'", ""), ROOT / Path(item.page).parent)
    assert (tmp_path / "traces" / "truth.jsonl").read_text(encoding="utf-8").count("\n") > 0


def framed() -> list[tuple[dict[str, Any], bytes]]:
    """What `load` writes of a trace: each line, and the bytes behind it."""
    done = subprocess.run([COLLECTOR, "load", TRACE, "--sink", "-"], capture_output=True, check=True)
    rest, found = done.stdout, []
    while rest:
        line, _, rest = rest.partition(b"\n")
        head = json.loads(line)
        found.append((head, rest[: head.get("bytes", 0)]))
        rest = rest[head.get("bytes", 0) :]
    return found


@needs_collector
def test_frames_are_as_the_readme_shows_them() -> None:
    """Every key, and no other."""
    (shown,) = left_to("frames")
    table, progress, summary = map(json.loads, shown.text.splitlines())
    heads = [head for head, _ in framed()]
    assert all(head.keys() == table.keys() for head in heads if "table" in head)
    assert heads[-1].keys() == {"summary"} and heads[-1]["summary"].keys() == summary["summary"].keys()
    # Progress is told of long loads alone.
    source = sources("collectors/agent")
    assert all(re.search(rf"\b{key}\b", source) for key in progress["progress"])


@needs_collector
def test_the_stores_addresses_are_as_the_readme_shows_them(served: Served) -> None:
    (shown,) = left_to("http")
    rows, operation = (command.split(" ", 2) for command in shown.text.splitlines())
    (kind,) = re.findall(r"Content-Type: (\S+?)\)", rows[2])
    for head, stream in framed():
        if "table" in head:
            path = rows[1].replace("TABLE", head["table"]).replace("rows=N", f"rows={head['rows']}")
            got = served.request(stream, rows[0], path, {"Content-Type": kind})
            assert got.status == 200 and json.loads(got.body)["rows"] == head["rows"], got.text
    names = operation[2].partition(";")[0].strip().split(", ")
    known: dict[str, Any] = {"retention": {"events_days": 0, "summaries_days": 0}}
    assert len(names) >= 4
    for name in names:
        body, path = json.dumps(known.get(name, {})).encode(), operation[1].replace("NAME", name)
        got = served.request(body, operation[0], path, {"Content-Type": "application/json"})
        assert got.status == 200 and isinstance(json.loads(got.body), (dict, int)), (name, got.status, got.text)


def test_quinns_dependency_is_the_labs() -> None:
    (item,) = [each for each in items() if each.kind == "text" and each.page.endswith("quinn.md")]
    (shown,) = tomllib.loads(item.text)["dependencies"].values()
    cargo = tomllib.loads((ROOT / "lab" / "quinn" / "Cargo.toml").read_text(encoding="utf-8"))
    ours = cargo["dependencies"]["quinn"]
    assert set(shown["features"]) <= set(ours["features"])
    lock = tomllib.loads((ROOT / "lab" / "quinn" / "Cargo.lock").read_text(encoding="utf-8"))
    assert shown["version"] in {each["version"] for each in lock["package"] if each["name"] == "quinn"}
