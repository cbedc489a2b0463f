"""What the READMEs of the collector show as settings and command lines, the collector takes."""

import os
import re
import subprocess
from pathlib import Path

import pytest
from mmdb import database
from taking import COLLECTOR, ROOT

DOCUMENTS = (ROOT / "collectors" / "README.md", ROOT / "collectors" / "edge" / "README.md")
BLOCKS = {
    f"{path.parent.name}-{number}": block
    for path in DOCUMENTS
    for number, block in enumerate(re.findall(r"(?ms)^```toml\n(.*?)^```$", path.read_text()))
}
COMMANDS = re.findall(r"(?m)^quiclens-collector (?:(?!  ).)+", DOCUMENTS[0].read_text())
PLACES = ("/var/lib/GeoIP", "/var/lib/quiclens", "/var/log", "/etc/quiclens", "/run/quiclens-collector")


def test_there_are_settings_to_try() -> None:
    assert len(BLOCKS) >= 10 and len(COMMANDS) >= 5


@pytest.mark.skipif(not COLLECTOR.exists(), reason="no quiclens-collector: cargo build --release")
@pytest.mark.parametrize("name", BLOCKS)
def test_the_collector_takes_the_settings_that_its_readmes_show(name: str, tmp_path: Path) -> None:
    done = checked(BLOCKS[name], tmp_path)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.skipif(not COLLECTOR.exists(), reason="no quiclens-collector: cargo build --release")
@pytest.mark.parametrize("line", COMMANDS)
def test_a_command_line_of_its_readme_runs(line: str, tmp_path: Path) -> None:
    trace = (ROOT / "schema" / "vectors" / "aioquic_clean_server" / "input.qlog").read_bytes()
    (tmp_path / "logs").mkdir()
    for name in ("server.qlog", "logs/server.qlog"):
        (tmp_path / name).write_bytes(trace)
    (tmp_path / "access.jsonl").write_text('{"time":"2026-11-20T10:00:00Z","path":"/"}\n')
    words = [str(COLLECTOR), *line.split()[1:]]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, check=False)
    assert done.returncode == 0 and len(done.stdout) > 100, done.stderr


@pytest.mark.skipif(not COLLECTOR.exists(), reason="no quiclens-collector: cargo build --release")
def test_a_setting_that_is_none_is_told(tmp_path: Path) -> None:
    done = checked(BLOCKS["collectors-0"].replace("cpu_cap", "cpu_cup"), tmp_path)
    assert done.returncode == 3 and "cpu_cup" in done.stderr


def checked(block: str, folder: Path) -> "subprocess.CompletedProcess[str]":
    """What `check` says of a block, whole or between what every configuration has; its places are in a folder."""
    for place in PLACES:
        inside = folder / place.lstrip("/")
        inside.mkdir(parents=True)
        block = block.replace(place, str(inside))
    for name in ("GeoLite2-ASN", "GeoLite2-City"):
        (folder / "var/lib/GeoIP" / f"{name}.mmdb").write_bytes(
            database("192.0.2.0/24", {"autonomous_system_number": 64500})
        )
    (folder / "etc/quiclens/kafka").write_text("a password\n")
    if block.startswith("[access_log.format]"):
        block = f'[[access_log]]\npath = "{folder}/access.log"\n{block}'
    if not re.search("(?m)^state_dir = ", block):
        block = f'state_dir = "{folder}/state"\ntraces = ["{folder}/logs"]\n{block}'
    if "[sink]" not in block:
        block += f'[sink]\nkind = "files"\nfolder = "{folder}/out"\n'
    config = folder / "collector.toml"
    config.write_text(block)
    environment = {**os.environ, "QUICLENS_CLIENT_SECRET": "a secret of many letters"}
    words = [str(COLLECTOR), "check", "--quiet", str(config)]
    return subprocess.run(words, env=environment, capture_output=True, text=True, check=False)
