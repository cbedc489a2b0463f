"""The deb's service under systemd: it ships a log's rows, and tells nobody the secrets that it is given."""

import json
import subprocess
from pathlib import Path

import pyarrow.ipc

from quiclens_lab.damage.flipped_bits import VECTORS
from quiclens_lab.errors import LabError
from quiclens_lab.installed.booted import booted
from quiclens_lab.machine import collector_binary
from quiclens_lab.podman import Podman

SECRET = "planted-to-be-told-by-nobody"
SCRIPT = f"""dpkg --install /dist/*.deb >/dev/null
mkdir -p /var/log/quic && chgrp adm /var/log/quic && chmod 750 /var/log/quic
# A secret in each place that may hold one: an address, a file, the environment. Its sink is away, which is said.
cd /etc/quiclens && cp collector.toml /root/
install --owner quiclens --mode 600 /dev/null client_secret && echo {SECRET} >client_secret
install --mode 600 /dev/null collector.env && echo QUICLENS_STORE_PASSWORD={SECRET} >collector.env
sed -i 's/^kind = .*/kind = "clickhouse"/; s#^brokers = .*#url = "http://writer:{SECRET}@127.0.0.1:9/q"#' \\
    collector.toml
printf '[enrich]\\nsecret_file = "/etc/quiclens/client_secret"\\n' >>collector.toml
systemctl start quiclens-collector
for second in $(seq 60); do journalctl --unit quiclens-collector | grep --quiet sink_away && break; sleep 1; done
quiclens-collector check collector.toml >/given/check.txt
systemctl status --no-pager --full quiclens-collector >/given/status.txt
systemctl show quiclens-collector >/given/show.txt
systemctl stop quiclens-collector
cp /root/collector.toml .
sed -i 's/^kind = .*/kind = "files"/; s#^brokers = .*#folder = "/var/lib/quiclens/out"#; 1i idle_timeout_s = 2' \\
    /etc/quiclens/collector.toml
systemctl start quiclens-collector
install --group adm --mode 640 /log /var/log/quic/one.qlog
for second in $(seq 300); do ls /var/lib/quiclens/out/connections/*.arrow >/dev/null 2>&1 && break; sleep 1; done
systemctl is-active quiclens-collector >/dev/null
journalctl --no-pager --all >/given/journal.txt
cp /var/lib/quiclens/out/connections/*.arrow /given/
"""
REMOVE = "dpkg --remove quiclens-collector >/dev/null && ! systemctl is-active quiclens-collector >/dev/null"


def shipped(podman: Podman, dist: Path, given: Path) -> tuple[float, list[str], list[str]]:
    """The unit's exposure, the connections of the rows that it shipped, and where a secret was told. LabError where the
    service does not run. `given` is a folder for what it leaves."""
    given.mkdir()
    given.chmod(0o777)
    with booted(podman, {dist: "/dist", LOG: "/log"}, [f"--volume={given}:/given"]) as machine:
        machine.do(SCRIPT)
        exposure = machine.exposure("quiclens-collector")
        machine.do(REMOVE)
    ids = set()
    for batch in given.glob("*.arrow"):
        with pyarrow.ipc.open_stream(batch.read_bytes()) as rows:
            ids |= set(rows.read_all().column("connection_id").to_pylist())
    return exposure, sorted(ids), telling(given)


def telling(given: Path) -> list[str]:
    """Which of the texts that the service left has the planted secret. LabError where the journal does not have what
    the service said of its sink: nothing is no proof."""
    texts = {path.stem: path.read_text(errors="replace") for path in sorted(given.glob("*.txt"))}
    if set(texts) != {"check", "journal", "show", "status"} or "sink_away" not in texts["journal"]:
        raise LabError(f"the service said nothing where it was listened for: {sorted(texts)}")
    return [name for name, text in texts.items() if SECRET in text]


LOG = VECTORS / "aioquic_clean_server" / "input.qlog"


def connections_of(log: Path) -> list[str]:
    """The connections of a log, as a collector of this machine reads them."""
    command = [str(collector_binary()), "dump", str(log), "--room", "summaries"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    return sorted({each["row"]["connection_id"] for each in rows if each["table"] == "connections"})
