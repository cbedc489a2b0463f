"""What the process that serves a store cannot reach, whatever runs in it: the kernel's wall with nothing before it.

The probes run in a process of their own that is confined as `serve` is, and report what succeeded.
"""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from serve_process import start

from quiclens_store_server import landlock
from quiclens_store_server.landlock import NotConfined

PROBES = """
import json, os, socket, subprocess, sys
from pathlib import Path
import quiclens_command_line.main  # with everything that serve imports
from quiclens_store_server.confinement import confine, temporary_folder
store, outside = Path(sys.argv[1]), Path(sys.argv[2])
listening = socket.create_server(("127.0.0.1", 0))
with temporary_folder() as temporary:
    version = confine(store, temporary, [])
    from quiclens_schema import engine
    connection = engine.another_connection(store)  # the plain engine: no grants, nothing reads what it is asked
    ask = lambda sql: str(connection.query(sql, "TSVRaw"))
    in_store, in_temporary = store / "out", temporary / "out"
    def connect(family, address):
        with socket.socket(family) as made:
            made.settimeout(2)
            made.connect(address)
    probes = {
        "file()": lambda: ask(f"SELECT * FROM file('{outside}/secret', 'LineAsString')"),
        "scalar file()": lambda: ask(f"SELECT file('{outside}/secret')"),
        "a path as a table": lambda: ask(f"SELECT * FROM `{outside}/secret`"),
        "OUTFILE": lambda: ask(f"SELECT 1 INTO OUTFILE '{outside}/out'"),
        "OUTFILE TRUNCATE": lambda: ask(f"SELECT 1 INTO OUTFILE '{outside}/secret' TRUNCATE"),
        "INSERT INTO FUNCTION file": lambda: ask(f"INSERT INTO FUNCTION file('{outside}/out', 'TSV') SELECT 1"),
        "environment": lambda: ask("SELECT file('/proc/self/environ')"),
        "passwd": lambda: open("/etc/passwd").read(),
        "read": lambda: (outside / "secret").read_text(),
        "list": lambda: os.listdir(outside),
        "write": lambda: (outside / "new").write_text(""),
        "append": lambda: open(outside / "secret", "a"),
        "truncate": lambda: os.truncate(outside / "secret", 0),
        "remove": lambda: (outside / "secret").unlink(),
        "rename out": lambda: (in_store.write_text(""), os.rename(in_store, outside / "moved")),
        "link in": lambda: os.link(outside / "secret", store / "linked"),
        "another's environment": lambda: open(f"/proc/{os.getppid()}/environ").read(),
        "signal": lambda: os.kill(os.getppid(), 0),
        "TCP": lambda: connect(socket.AF_INET, listening.getsockname()),
        "bind": lambda: socket.create_server(("127.0.0.1", 0)),
        "shell": lambda: subprocess.run(["/bin/sh", "-c", "true"], check=True),
        "python": lambda: subprocess.run([sys.executable, "-c", ""], check=True),
        "a script of ours": lambda: ((temporary / "x").write_text("#!/bin/sh\\n"), (temporary / "x").chmod(0o700),
                                     subprocess.run([temporary / "x"], check=True)),
    }
    free = {
        "store": lambda: (in_store.write_text(""), in_store.unlink()),
        "temporary": lambda: (in_temporary.write_text(""), in_temporary.unlink()),
        "insert": lambda: ask("INSERT INTO t SELECT number FROM numbers(9)"),
        "merge": lambda: ask("OPTIMIZE TABLE t FINAL"),
        "select": lambda: ask("SELECT sum(a) FROM t"),
        "auxiliary vector": lambda: open("/proc/self/auxv", "rb").read(),  # without it the engine may crash
    }
    def succeeds(probe):
        try:
            probe()
        except (OSError, RuntimeError):
            return False
        return True
    result = {"version": version, "reached": [name for name, probe in probes.items() if succeeds(probe)],
              "lost": [name for name, probe in free.items() if not succeeds(probe)]}
    connection.close()
print(json.dumps(result))
"""


def has_landlock() -> bool:
    try:
        return landlock.abi() >= 4
    except NotConfined:
        return False


@pytest.mark.skipif(not has_landlock(), reason="this kernel has no Landlock with TCP: nothing confines serve here")
def test_the_kernel_alone_refuses_every_file_program_and_host(tmp_path: Path) -> None:
    store, outside = tmp_path / "store", tmp_path / "outside"
    outside.mkdir()
    (outside / "secret").write_text("secret")
    made = (
        "import chdb, sys; chdb.connect(sys.argv[1]).query('CREATE TABLE t (a UInt64) ENGINE = MergeTree ORDER BY a')"
    )
    subprocess.run([sys.executable, "-c", made, str(store)], check=True)
    words = [sys.executable, "-c", PROBES, str(store), str(outside)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["reached"] == [] and found["lost"] == []
    assert (outside / "secret").read_text() == "secret" and [each.name for each in outside.iterdir()] == ["secret"]


@pytest.mark.skipif(not has_landlock(), reason="this kernel has no Landlock with TCP: nothing confines serve here")
def test_serve_is_confined_and_says_by_what(tmp_path: Path) -> None:
    running = start(tmp_path / "store")
    try:
        assert json.loads((tmp_path / "store" / "owner.json").read_text())["landlock"] == landlock.abi()
        assert "not confined" not in running.logged()
    finally:
        running.stop()


def test_a_process_with_other_threads_is_not_taken_for_confined(tmp_path: Path) -> None:
    script = """
import threading, time
from quiclens_store_server.landlock import NotConfined, restrict
threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
try:
    restrict([])
except NotConfined as reason:
    print(reason)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert "Landlock" in done.stdout or "other threads run" in done.stdout


def test_the_command_starts_no_threads_before_it_is_confined() -> None:
    script = "import os, quiclens_command_line.main; print(len(os.listdir('/proc/self/task')))"
    assert subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout == "1\n"
