"""Exit codes, error documents, and what a hostile value can do (nothing)."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from api_ran import Run
from api_seed import A
from quiclens_schema import store as stores

INJECTIONS = (
    "acme' OR 1=1 --",
    "acme\\' OR 1=1 --",
    "'); DROP TABLE requests; --",
    "{since:String}",
    "%(limit)s",
    "acme\x00",
    "acme\t\n",
)


@pytest.mark.parametrize("value", INJECTIONS)
def test_a_value_is_never_sql(run: Run, value: str) -> None:
    ran = run("slow", "--where", f"carrier={value}", "--json")
    assert ran.code == 1 and ran.document["requests"] == []
    assert run("explain", value, "--json").code == 1
    assert len(run("slow", "--json").document["requests"]) == 5


@pytest.mark.parametrize("column", ["1=1 OR carrier", "carrier`", "carrier)--", "(SELECT 1)", "file('/etc/passwd')"])
def test_a_column_is_only_what_the_catalogue_knows(run: Run, column: str) -> None:
    assert run("slow", "--where", f"{column}=x").code == 2
    assert run("slow", "--by", column).code == 2


def test_an_unknown_column_is_a_usage_error_with_near_matches(run: Run) -> None:
    ran = run("slow", "--where", "carier=acme", "--json")
    assert ran.code == 2 and ran.document["error"]["code"] == "usage" and "carrier" in ran.document["error"]["hint"]


@pytest.mark.parametrize(
    "words",
    [
        ("slow", "--where", "status=abc"),
        ("slow", "--where", "status=-1"),
        ("slow", "--where", "status=65536"),
        ("slow", "--where", "weight=nan"),
        ("slow", "--where", "complete=perhaps"),
        ("slow", "--where", "started_at>=yesterday"),
        ("slow", "--where", "carrier"),
        ("slow", "--where", "duration_us>5 parsecs"),
        ("slow", "--where", "duration_us~5"),
        ("slow", "--where", "top_cause=window"),
        ("slow", "--since", "soon"),
        ("slow", "--min-ms", "-1"),
        ("slow", "--min-ms", "inf"),
        ("slow", "--limit", "0"),
        ("slow", "--no-such-option"),
        ("no-such-command",),
        ("report", "no-such-report"),
        ("report", "rtt", "--where", "path=/x"),
        ("report", "rtt", "--by", "path"),
        ("report", "rtt", "--without", "pto"),
        ("report", "tail", "--without", "network"),
        ("report", "tail", "--without", "unattributed"),
        ("report", "tail", "--without", "weather"),
        ("report", "tail", "--by", "saves"),
        ("slow", "--by", "saves"),
        ("slow", "--where", "saves=1"),
        ("export", "aa", "-o", "a.txt"),
        ("export", "aa"),
        ("export", "aa", "-o", "a.qlog", "--as-is", "--for-qvis"),
        ("explain",),
    ],
)
def test_a_wrong_command_line_is_exit_2_and_one_document(run: Run, words: tuple[str, ...]) -> None:
    ran = run(*words, "--json")
    assert ran.code == 2 and set(ran.document["error"]) == {"code", "message", "hint"} and ran.err
    assert run(*words).out == ""


def test_a_store_that_is_not_there_is_exit_3_and_is_not_made(run: Run, tmp_path: Path) -> None:
    missing = tmp_path / "nowhere"
    ran = run("slow", "--store", f"chdb:{missing}", "--json")
    assert ran.code == 3 and ran.document["error"]["code"] == "no_store" and not missing.exists()
    assert run("slow", "--store", "ftp://x").code == 3


def test_a_folder_that_is_no_store_is_left_as_it_is(run: Run, tmp_path: Path) -> None:
    (tmp_path / "holiday.jpg").touch()
    for words in (("slow",), ("migrate",), ("load", str(tmp_path))):
        ran = run(*words, "--store", f"chdb:{tmp_path}", "--json")
        assert ran.code == 3 and ran.document["error"]["code"] in ("not_a_store", "no_collector")
    assert [path.name for path in tmp_path.iterdir()] == ["holiday.jpg"]


def test_a_store_whose_first_process_was_killed_as_it_began_is_made(run: Run, tmp_path: Path) -> None:
    (tmp_path / "tmp").mkdir()
    assert run("slow", "--store", f"chdb:{tmp_path}", "--json").document["error"]["code"] == "no_store"
    (tmp_path / "tmp" / "holiday.jpg").touch()
    assert run("migrate", "--store", f"chdb:{tmp_path}", "--json").document["error"]["code"] == "not_a_store"
    (tmp_path / "tmp" / "holiday.jpg").unlink()
    assert run("migrate", "--store", f"chdb:{tmp_path}", "--json").code == 0


_LACKS = "DB::Exception: me: Not enough privileges. To execute this query, it's necessary to have the grant"


@pytest.mark.parametrize(
    ("said", "code", "word"),
    [
        (
            "Error HTTPConnectionPool(host='x'): Max retries exceeded … Connection refused",
            "no_store",
            "no server answers",
        ),
        ("HTTP driver received HTTP status 404, server response: <html>", "no_store", "no ClickHouse"),
        ("… status 403, server response: Code: 516. DB::Exception: password is incorrect", "store_refused", "refused"),
        (f"Code: 497. {_LACKS} INSERT(a, b) ON x.requests. (ACCESS", "store_denied", "INSERT(a, b) ON x.requests"),
        (f"Code: 497. {_LACKS} ALTER DELETE ON x.y. (ACCESS", "store_denied", "lacks grant ALTER DELETE ON x.y"),
        ("Code: 60. DB::Exception: Unknown table requests", "store_not_migrated", "older"),
        ("Code: 215. DB::Exception: not under aggregate. In query SELECT 1", "store_failed", "not under aggregate"),
    ],
)
def test_what_a_server_says_is_one_line(
    run: Run, monkeypatch: pytest.MonkeyPatch, said: str, code: str, word: str
) -> None:
    def failing(url: str) -> stores.Store:
        raise stores.StoreError(said)

    monkeypatch.setattr(stores, "open", failing)
    ran = run("slow", "--store", "http://me:secret@host:8123/x", "--json")
    error = ran.document["error"]
    assert ran.code == 3 and error["code"] == code and word in error["message"]
    assert "secret" not in ran.err and "SELECT" not in ran.err


def test_without_a_collector_the_hint_says_how_to_build_it(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("QUICLENS_COLLECTOR", "/no/such/program")
    ran = run("check", __file__, "--json")
    assert ran.code == 3 and ran.document["error"]["hint"] == "cargo build --release"


def test_every_command_has_help_with_examples(run: Run) -> None:
    listed = run("--help")
    assert listed.code == 0
    for name in (
        "load",
        "slow",
        "explain",
        "export",
        "report",
        "failed",
        "check",
        "diff",
        "status",
        "serve",
        "link",
        "migrate",
        "demo",
    ):
        told = run(name, "--help")
        assert name in listed.out and told.code == 0 and f"quiclens {name}" in told.out and "--json" in told.out


def test_where_reads_every_operator(run: Run) -> None:
    def found(*where: str) -> int:
        words = [word for text in where for word in ("--where", text)]
        return int(run("slow", *words, "--json").document["coverage"]["requests"])

    assert found("carrier=acme") == 2 and found("carrier!=acme") == 3
    assert found("carrier=") == 1 and found("carrier!=") == 4
    assert found("duration_us>=77000") == 3 and found("duration_us<=77000", "carrier=zeta") == 1
    assert found("complete=false") == 1 and found("started_at>=2026-11-20T11:00:00Z") == 1
    assert found("external_id=it's/9") == 1 and found("weight>=2.5") == 1
    for odd in ("77000\x1f", "\x1c77000", "7\u0667", "+1", "1_0", "9" * 30):
        assert run("slow", "--where", f"duration_us>={odd}", "--json").code == 2, odd


def test_a_store_held_by_another_process_is_one_line(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def busy(url: str) -> stores.Store:
        raise stores.StoreBusy("store x is held by process 7; stop it, or use another --store", 7)

    monkeypatch.setattr(stores, "open", busy)
    ran = run("slow", "--json")
    assert ran.code == 3 and ran.document["error"]["code"] == "store_busy"
    assert "process 7" in ran.err


VECTORS = Path(__file__).resolve().parents[2] / "schema" / "vectors"


def behind_a_closed_pipe(*words: str, closed: str = "stdout") -> tuple[int, bytes]:
    """The exit code of a command whose output nobody reads, and what it says to the other stream."""
    reading, writing = os.pipe()
    os.close(reading)
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | {closed: writing}
    try:
        done = subprocess.run([sys.executable, "-m", "quiclens_command_line", *words], check=False, **streams)  # type: ignore[call-overload]
    finally:
        os.close(writing)
    return done.returncode, done.stderr if closed == "stdout" else done.stdout


@pytest.mark.parametrize(
    "words",
    [
        ("--help",),
        ("slow", "--help"),
        ("check", str(VECTORS / "client_log" / "input.sqlog")),
        ("check", str(VECTORS / "client_log" / "input.sqlog"), "--json"),
        ("slow", "--store", "{store}"),
        ("slow", "--store", "{store}", "--json"),
        ("report", "tail", "--store", "{store}", "--format", "csv"),
        ("export", A, "--store", "{store}", "--output", "-"),
    ],
)
def test_an_answer_that_nobody_reads_ends_the_command_quietly(store_url: str, words: tuple[str, ...]) -> None:
    assert behind_a_closed_pipe(*(word.format(store=store_url) for word in words)) == (0, b"")


@pytest.mark.parametrize(
    ("words", "code"), [(("slow", "--no-such-option"), 2), (("check", "/nowhere"), 3), (("slow", "--limit", "0"), 2)]
)
def test_a_failure_that_nobody_reads_has_its_exit_code(words: tuple[str, ...], code: int) -> None:
    found, said = behind_a_closed_pipe(*words, "--json")
    assert found == code and said.startswith(b"quiclens: ") and b"Traceback" not in said


def test_where_nobody_reads_messages_the_answer_is_there(store_url: str) -> None:
    assert behind_a_closed_pipe("slow", "--no-such-option", closed="stderr") == (2, b"")
    log = str(VECTORS / "client_log" / "input.sqlog")
    code, said = behind_a_closed_pipe("check", log, "--json", closed="stderr")
    assert code == 0 and said.startswith(b"{")


_INTERRUPTED_WHILE_IT_IMPORTS = """
import importlib.abc, os, signal, sys

class Interrupt(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name == "quiclens_command_line.app":
            os.kill(os.getpid(), signal.SIGINT)

from quiclens_command_line.entry import main
sys.meta_path.insert(0, Interrupt())
main()
"""


def test_an_interrupt_while_modules_are_imported_is_quiet() -> None:
    done = subprocess.run([sys.executable, "-c", _INTERRUPTED_WHILE_IT_IMPORTS], capture_output=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (130, b"", b"interrupted\n")
