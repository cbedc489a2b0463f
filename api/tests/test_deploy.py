"""deploy/: what can be known without containers: files, settings, images, commands. `make containers` runs them."""

import os
import re
import shlex
import shutil
import subprocess
import xml.etree.ElementTree as ET
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
import yaml
from api_ran import Run
from document_cover import left_to
from quiclens_ingest import broker

from quiclens_web.front import tokens

ROOT = Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "deploy"
COLLECTOR = Path(os.environ.get("QUICLENS_COLLECTOR", ROOT / "target" / "release" / "quiclens-collector"))
COMPOSE: dict[str, Any] = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
OURS = {name: service for name, service in SERVICES.items() if "build" in service}
UNITS = sorted((DEPLOY / "systemd").glob("*.service"))
TIMERS = sorted((DEPLOY / "systemd").glob("*.timer"))


def test_every_service_is_bounded_pinned_and_on_loopback() -> None:
    for name, service in SERVICES.items():
        assert re.fullmatch(r"[a-z/-]+:\d+\.\d+(\.\d+)?", service["image"]), name
        assert "mem_limit" in service, name
        assert all(port.startswith("127.0.0.1:") for port in service.get("ports", [])), name
        for other in service.get("depends_on", {}):
            needs = service["depends_on"][other]["condition"]
            assert needs != "service_healthy" or "healthcheck" in SERVICES[other], (name, other)


def secrets_commands() -> tuple[str, str]:
    """As the page has them: in its block, and in the sentence on certificates."""
    page = (DEPLOY / "README.md").read_text()
    (first,) = re.findall(r"(?m)^(deploy/containers/secrets) ", page)
    (renewing,) = re.findall(r"`(deploy/containers/secrets [^`]+)`", page)
    return first, renewing


def test_secrets_are_files_which_the_script_makes(tmp_path: Path) -> None:
    for name, service in SERVICES.items():
        for variable, value in service.get("environment", {}).items():
            if re.search("PASSWORD|TOKEN|SECRET|_KEY", variable):
                place = "/var/lib/quiclens/" if variable == "QUICLENS_ERASE_KEY_FILE" else "/run/secrets/"
                assert variable.endswith("_FILE") and str(value).startswith(place), (name, variable)
        for each in service.get("secrets", []):
            source = each if isinstance(each, str) else each["source"]
            assert source in COMPOSE["secrets"], (name, source)
    shutil.copytree(DEPLOY / "containers", tmp_path / "containers")
    made = tmp_path / "secrets"
    script, renewing = (shlex.split(command.replace("deploy", str(tmp_path))) for command in secrets_commands())
    subprocess.run(script, check=True)
    for secret in COMPOSE["secrets"].values():
        file = re.sub(r"\$\{\w+:-(.+)\}", r"\1", secret["file"])  # where .env says nothing
        assert (tmp_path / file).stat().st_size > 0, secret
    assert made.stat().st_mode & 0o077 == 0  # nobody else comes in
    before = {file.name: file.read_bytes() for file in made.iterdir()}
    subprocess.run(script, check=True)
    assert {file.name: file.read_bytes() for file in made.iterdir()} == before
    subprocess.run(renewing, check=True)
    changed = {file.name for file in made.iterdir() if file.read_bytes() != before[file.name]} - {"ca.srl"}
    wanted = {f"{name}.{kind}" for name in ("clickhouse", "web", "server", "kafka-server") for kind in ("key", "pem")}
    assert changed == {*wanted, "kafka.pem"}
    (token,) = tokens.read((made / "web_tokens").read_text())
    assert tokens.find([token], (made / "web_token").read_text().strip()) is token


def test_every_service_has_the_secrets_that_its_settings_name() -> None:
    for name, service in SERVICES.items():
        mounted = [volume.split(":")[0] for volume in service.get("volumes", []) if volume.startswith("./")]
        files = [DEPLOY / source for source in mounted if (DEPLOY / source).is_file()]
        texts = [yaml.safe_dump(service), *(file.read_text() for file in files)]
        named = {found for text in texts for found in re.findall(r"/run/secrets/([\w.]+)(?![\w.$])", text)}
        targets = {each if isinstance(each, str) else each["target"] for each in service.get("secrets", [])}
        if name == "kafka":  # its start script puts names together
            named |= {f"kafka_{user}_password" for user in ("admin", "collector", "ingest")}
        assert named == targets, name


def test_a_store_of_another_authority_is_trusted_by_all_that_ask_it() -> None:
    asking = {name for name, service in SERVICES.items() if "QUICLENS_STORE" in service.get("environment", {})}
    trusting = {
        name
        for name, service in SERVICES.items()
        if service.get("environment", {}).get("SSL_CERT_FILE") == "/run/secrets/store_ca"
    }
    assert trusting == {*asking, "grafana"} and len(asking) == 6
    variable, usual = re.fullmatch(r"\$\{(\w+):-(.+)\}", COMPOSE["secrets"]["store_ca"]["file"]).groups()  # type: ignore[union-attr]
    assert usual == COMPOSE["secrets"]["ca"]["file"]
    assert f"\n#{variable}=" in (DEPLOY / ".env.example").read_text() and variable in (DEPLOY / "README.md").read_text()


@pytest.fixture(scope="module")
def drawn_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    deploy = tmp_path_factory.mktemp("deploy")
    shutil.copytree(DEPLOY / "containers", deploy / "containers")
    again(deploy)
    return deploy


@pytest.fixture
def drawn(drawn_once: Path, tmp_path: Path) -> Path:
    """A folder with the secrets, which `again` draws where they are missing."""
    return shutil.copytree(drawn_once, tmp_path / "deploy") / "secrets"


def again(deploy: Path) -> None:
    subprocess.run([str(deploy / "containers" / "secrets")], check=True)


def contents(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in folder.iterdir() if file.name != "ca.srl"}


CERTIFIED = ("clickhouse", "kafka-server", "server", "web")
SIGNED = {f"{name}.{kind}" for name in CERTIFIED for kind in ("key", "pem")} | {"kafka.pem"}


@pytest.mark.parametrize(
    ("deleted", "anew"),
    [
        ("web_token", {"web_token", "web_tokens"}),
        ("store_ingest", {"store_ingest", "passwords.xml"}),
        ("kafka_ingest", {"kafka_ingest"}),
        ("ca.pem", {"ca.pem", "ca.key"} | SIGNED),
        ("web.pem", {"web.pem", "web.key"}),
        ("web.key", {"web.pem", "web.key"}),
        ("kafka-server.pem", {"kafka-server.pem", "kafka-server.key", "kafka.pem"}),
    ],
)
def test_a_secret_that_is_deleted_is_made_anew_with_all_that_is_made_of_it(
    drawn: Path, deleted: str, anew: set[str]
) -> None:
    before = contents(drawn)
    (drawn / deleted).unlink()
    again(drawn.parent)
    now = contents(drawn)
    assert now.keys() == before.keys()
    assert {name for name in now if now[name] != before[name]} == anew
    (token,) = tokens.read(now["web_tokens"].decode())
    assert tokens.find([token], now["web_token"].decode().strip()) is token
    for name in CERTIFIED:
        verify = ["openssl", "verify", "-CAfile", str(drawn / "ca.pem"), str(drawn / f"{name}.pem")]
        assert subprocess.run(verify, capture_output=True, check=False).returncode == 0, name
    assert now["kafka.pem"].endswith(now["kafka-server.pem"] + now["ca.pem"])


def test_what_an_operator_brings_to_the_secrets_stays(drawn: Path) -> None:
    """A certificate of another authority, and tokens beside the script's own, whatever is made anew."""
    of_another = ["-keyout", str(drawn / "web.key"), "-out", str(drawn / "web.pem"), "-subj", "/CN=another"]
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", *of_another], check=True, capture_output=True
    )
    line = f"alice writer sha256:{'a' * 64}\n"
    with (drawn / "web_tokens").open("a") as file:
        file.write(line)
    before = contents(drawn)
    for name in ("ca.pem", "web_token"):
        (drawn / name).unlink()
    again(drawn.parent)
    now = contents(drawn)
    assert (now["web.pem"], now["web.key"]) == (before["web.pem"], before["web.key"])
    team, alice = now["web_tokens"].decode().splitlines(keepends=True)
    digest = sha256(now["web_token"].strip()).hexdigest()
    assert (team, alice) == (f"team reader sha256:{digest}\n", line)


def test_an_authority_without_its_key_is_not_replaced(drawn: Path) -> None:
    authority = (drawn / "ca.pem").read_bytes()
    for name in ("ca.key", "web.pem"):
        (drawn / name).unlink()
    done = subprocess.run([str(drawn.parent / "containers" / "secrets")], capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "no ca.key to sign web.pem" in done.stderr
    assert (drawn / "ca.pem").read_bytes() == authority and not (drawn / "web.pem").exists()


def test_what_is_mounted_exists_and_volumes_are_declared() -> None:
    for service in SERVICES.values():
        for volume in service.get("volumes", []):
            source = volume.rpartition("}")[0] + "}" if volume.startswith("$") else volume.split(":")[0]
            is_made = source.removeprefix("./").startswith("secrets/")
            assert source.startswith("$") or source in COMPOSE["volumes"] or is_made or (DEPLOY / source).exists(), (
                volume
            )


def test_the_images_copy_what_exists_and_what_the_context_lets_through() -> None:
    text = (DEPLOY / "Dockerfile").read_text()
    let_through = re.findall(r"(?m)^!(.*)", (DEPLOY / "Dockerfile.dockerignore").read_text())
    for line in re.findall(r"(?m)^COPY (?!--from)(.*)", text):
        for source in line.split()[:-1]:
            assert list(ROOT.glob(source)), source
            assert any(source == each or source.startswith(f"{each}/") for each in let_through), source
    stages = set(re.findall(r"(?m)^FROM .* AS (\w+)", text))
    assert {service["build"]["target"] for service in OURS.values()} <= stages
    for service in OURS.values():
        assert (DEPLOY / service["build"]["dockerfile"].removeprefix("deploy/")).is_file()


def test_the_broker_is_set_up_as_the_one_of_make_up() -> None:
    def settings(text: str) -> dict[str, str]:
        lines = text.replace("\\\n", "").splitlines()
        return dict(line.split("=", 1) for line in lines if line and not line.startswith("#"))

    local = settings(broker._PROPERTIES) | settings(broker._WALLED)
    composed = settings((DEPLOY / "kafka" / "server.properties").read_text())
    addresses = {"listeners", "advertised.listeners", "controller.quorum.voters", "log.dirs"}
    places = {"listener.name.clients.ssl.keystore.location"}
    assert set(local) == set(composed)
    for name in set(local) - addresses - places:
        assert composed[name] == local[name], name


def test_ingest_and_migrate_take_their_settings(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "password").write_text("a password\n")
    monkeypatch.setenv("QUICLENS_KAFKA_PASSWORD_FILE", str(tmp_path / "password"))
    for service in ("ingest", "migrate"):
        (mount,) = (volume for volume in SERVICES[service]["volumes"] if volume.startswith("./"))
        source, inside, _ = mount.split(":")
        assert inside in SERVICES[service]["command"]
        ran = run("ingest", "--config", str(DEPLOY / source), "--check", "--json")
        assert ran.code == 0 and "a password" not in ran.out
        assert ran.document["brokers"] == "kafka:9092"
        assert "sasl.password" in ran.document["kafka"]
    ran = run("ingest", "--config", str(DEPLOY / "containers" / "ingest.toml"), "--check", "--json")
    grace = int(SERVICES["ingest"]["stop_grace_period"].removesuffix("s"))
    assert grace > ran.document["drain_seconds"]


def test_the_collector_takes_its_settings(tmp_path: Path) -> None:
    if not COLLECTOR.exists():
        pytest.skip("no quiclens-collector: cargo build --release")
    for name in ("kafka_collector_password", "client_secret"):
        (tmp_path / name).write_text("a password of many letters")
    config = tmp_path / "collector.toml"
    config.write_text((DEPLOY / "containers" / "collector.toml").read_text().replace("/run/secrets", str(tmp_path)))
    done = subprocess.run([COLLECTOR, "check", config], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert 'brokers = "kafka:9092"' in done.stdout and "a password" not in done.stdout
    inside = [
        volume.split(":")[-1 if not volume.endswith(":ro") else -2] for volume in SERVICES["collector"]["volumes"]
    ]
    assert "/var/lib/quiclens" in inside and 'state_dir = "/var/lib/quiclens"' in done.stdout
    assert "/var/log/quic" in inside and "/etc/quiclens/collector.toml" in inside


@pytest.mark.parametrize("service", ["migrate", "ingest", "retention", "web"])
def test_the_words_of_a_service_are_commands_and_options_that_exist(run: Run, service: str) -> None:
    words = " ".join(SERVICES[service]["command"])
    (command,) = re.findall(r"(?:quiclens |^)(migrate|ingest|retention|serve)\b", words)
    assert run(command, "--help").code == 0
    help_text = run(command, "--help").out
    for option in re.findall(r"--[a-z-]+", words):
        assert option in help_text, option


def settings_in_documents() -> list[tuple[str, str]]:
    """What stands between `state_dir` and `[sink]`, by document."""
    found = []
    for path in sorted((DEPLOY / "docs" / "servers").glob("*.md")):
        blocks = re.findall(r"(?ms)^```toml\n(.*?)^```", path.read_text())
        found += [(f"{path.stem}-{number}", block) for number, block in enumerate(blocks)]
    return found


@pytest.mark.parametrize("block", [block for _, block in settings_in_documents()], ids=dict(settings_in_documents()))
def test_the_collector_takes_the_settings_that_documents_show(block: str, tmp_path: Path) -> None:
    config = tmp_path / "collector.toml"
    (tmp_path / "client_secret").write_text("a secret of many letters")
    block = block.replace("/etc/quiclens", str(tmp_path))
    config.write_text(f'state_dir = "{tmp_path}"\n{block}\n[sink]\nkind = "files"\nfolder = "{tmp_path}/out"\n')
    done = subprocess.run([COLLECTOR, "check", "--quiet", config], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_every_server_of_the_list_has_its_page() -> None:
    folder = DEPLOY / "docs" / "servers"
    named = set(re.findall(r"\]\(([\w-]+\.md)", (folder / "README.md").read_text()))
    assert named == {path.name for path in folder.glob("*.md")} - {"README.md"}
    assert len(named) == 12


def test_each_program_is_a_user_of_clickhouse_with_the_rights_of_its_role(tmp_path: Path) -> None:
    users = element(ET.parse(DEPLOY / "clickhouse" / "users.xml").getroot(), "users")
    assert element(users, "default").get("remove") == "1"
    wanted = {"web": "read", "grafana": "read"}
    given = {
        user.tag: {str(query.text) for query in user.iterfind("grants/query")}
        for user in users
        if user.tag != "default"
    }
    grants = re.findall(r"(?m)^(GRANT .+) TO quiclens_(\w+);$", (DEPLOY / "clickhouse" / "grants.sql").read_text())
    for user, rights in given.items():
        assert rights == {grant for grant, role in grants if role == wanted.get(user, user)} != set(), user
    shutil.copytree(DEPLOY / "containers", tmp_path / "containers")
    subprocess.run([str(tmp_path / "containers" / "secrets")], check=True)
    passwords = element(ET.parse(tmp_path / "secrets" / "passwords.xml").getroot(), "users")
    for user in given:
        password = (tmp_path / "secrets" / f"store_{user}").read_text().strip()
        assert passwords.findtext(f"{user}/password_sha256_hex") == sha256(password.encode()).hexdigest()
    assert {each.tag for each in passwords} == set(given)
    # Each service is let in as itself, by its own password.
    served = {}
    for name, service in SERVICES.items():
        if store := service.get("environment", {}).get("QUICLENS_STORE"):
            (user,) = re.findall(r"https://(\w+)@\${QUICLENS_CLICKHOUSE:-clickhouse:8443/quiclens}", store)
            assert {"source": f"store_{user}_password", "target": "store_password"} in service["secrets"], name
            served[name] = user
    assert served == {**{name: name for name in given if name != "grafana"}, "quiclens": "web"}


def test_clickhouse_makes_its_database_itself() -> None:
    """By the port of CLICKHOUSE_DB, which is closed, its image would fail."""
    server = ET.parse(DEPLOY / "clickhouse" / "server.xml").getroot()
    assert server.findtext("startup_scripts/scripts/query") == "CREATE DATABASE IF NOT EXISTS quiclens"
    assert element(server, "tcp_port").get("remove") == "1"
    assert "CLICKHOUSE_DB" not in SERVICES["clickhouse"]["environment"]


def element(parent: ET.Element, name: str) -> ET.Element:
    found = parent.find(name)
    assert found is not None, name
    return found


def test_grafana_reads_as_a_user_that_clickhouse_knows() -> None:
    (source,) = yaml.safe_load((DEPLOY / "grafana" / "datasource.yaml").read_text())["datasources"]
    assert source["jsonData"]["username"] == "grafana"
    assert source["secureJsonData"]["password"] == "$__file{/run/secrets/store_password}"
    assert {"source": "store_grafana_password", "target": "store_password"} in SERVICES["grafana"]["secrets"]
    assert source["jsonData"]["host"] in SERVICES
    port = ET.parse(DEPLOY / "clickhouse" / "server.xml").getroot().findtext("https_port")
    assert (str(source["jsonData"]["port"]), source["jsonData"]["protocol"]) == (port, "https")
    assert source["type"] in SERVICES["grafana"]["environment"]["GF_PLUGINS_PREINSTALL"]


@pytest.mark.parametrize("unit", [*UNITS, *TIMERS], ids=lambda unit: unit.name)
def test_systemd_accepts_the_unit(unit: Path, tmp_path: Path) -> None:
    analyze = shutil.which("systemd-analyze")
    if analyze is None:
        pytest.skip("no systemd-analyze")
    for each in {unit, unit.with_suffix(".service")}:
        # The programs are not installed here; their options are checked elsewhere.
        text = re.sub(r"(?m)^(ExecStart(?:Pre)?)=\S+", r"\1=/bin/true", each.read_text())
        (tmp_path / each.name).write_text(text)
    done = subprocess.run([analyze, "verify", tmp_path / unit.name], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="no systemd-analyze")
@pytest.mark.parametrize("directive", sorted({item.text for item in left_to("directive")}))
def test_systemd_accepts_what_documents_say_of_units(directive: str, tmp_path: Path) -> None:
    """As a line of its own; one without a value empties what was set before."""
    unit = tmp_path / "documented.service"
    unit.write_text(f"[Service]\nExecStart=/bin/true\n{directive}\n")
    done = subprocess.run(["systemd-analyze", "verify", unit], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.stem)
def test_a_unit_that_is_started_again_is_not_for_ever(unit: Path) -> None:
    """A file that is wrong, or a program that ends at once, comes to the limit, so that systemd says it failed."""
    said = dict(re.findall(r"(?m)^(\w+)=(\S+)$", unit.read_text()))
    if "Restart" not in said:
        assert said["Type"] == "oneshot"
        return
    interval, burst, wait = (int(said[name]) for name in ("StartLimitIntervalSec", "StartLimitBurst", "RestartSec"))
    start_s = 10  # more than an attempt that fails takes
    assert burst * (wait + start_s) < interval, "it would never be reached"
    assert interval / burst < int(said["WatchdogSec"]), "one that hangs is started again without an end"


def test_retention_by_timer_is_what_the_command_takes(run: Run) -> None:
    service = (DEPLOY / "systemd" / "quiclens-retention.service").read_text()
    (line,) = re.findall(r"(?m)^ExecStart=\S+/quiclens (.+)$", service)
    settings = dict(
        word.split("=", 1) for words in re.findall(r"(?m)^Environment=(.+)$", service) for word in words.split()
    )
    command, *words = re.sub(r"\$\{(\w+)\}", lambda found: settings.pop(found[1]), line).split()
    assert settings.keys() == {"QUICLENS_STORE"} and "${" not in " ".join(words)
    ran = run(command, *words, "--json")
    assert ran.code == 0 and ran.document["disk_bytes"] > 0, ran.err


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.stem)
def test_units_use_the_files_that_the_readme_installs(unit: Path) -> None:
    readme = (DEPLOY / "README.md").read_text()
    for path in re.findall(r"(?m)^ExecStart=(\S+)", unit.read_text()):
        assert path in readme, path
    for path in re.findall(r"/etc/quiclens/\w+\.toml|/var/lib/[\w-]+", unit.read_text()):
        assert path in readme, path


def test_the_collector_may_write_where_its_documents_and_samples_say() -> None:
    """All else is read-only for its unit (ProtectSystem=strict)."""
    unit = (DEPLOY / "systemd" / "quiclens-collector.service").read_text()
    said = dict(re.findall(r"(?m)^(\w+)=(\S+)$", unit))
    assert said["ProtectSystem"] == "strict" and said["StateDirectoryMode"] == "0700"
    may = {f"/var/lib/{said['StateDirectory']}", f"/run/{said['RuntimeDirectory']}"}
    pages = [ROOT / "collectors" / "README.md", DEPLOY / "packages" / "collector.toml", *DEPLOY.glob("docs/**/*.md")]
    written = {
        (page.name, found[1])
        for page in pages
        for found in re.finditer(r'"(/(?:run|var/lib/quiclens)[^"]*)"', page.read_text())
    }
    assert {path for _, path in written} >= {"/var/lib/quiclens", "/run/quiclens-collector/lines"}
    assert {(page, path) for page, path in written if not path.startswith(tuple(may))} == set()
    others = [unit.read_text() for unit in UNITS if unit.stem != "quiclens-collector"]
    taken = {folder for text in others for folder in re.findall(r"(?m)^RuntimeDirectory=(\S+)$", text)}
    assert said["RuntimeDirectory"] not in taken, "the one that ends first would remove it"


def test_the_unit_of_serve_may_do_what_its_documents_say() -> None:
    """Tokens and certificate are read again by the process that serves alone; the audit log is written."""
    said = dict(re.findall(r"(?m)^(\w+)=(.+)$", (DEPLOY / "systemd" / "quiclens-serve.service").read_text()))
    assert said["ExecReload"] == "/bin/kill -HUP $MAINPID"
    assert f"`/var/log/{said['LogsDirectory']}`" in (DEPLOY / "README.md").read_text()


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="no systemd-analyze")
@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.stem)
def test_a_unit_is_given_what_it_needs_and_no_more(unit: Path) -> None:
    # An exposure of 2.0 at most; 10 is the worst. That the services run so was tried under systemd.
    command = ["systemd-analyze", "security", "--offline=true", "--threshold=20", str(unit)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr
    (told,) = re.findall(r"\(`systemd-analyze security`: ([\d.]+)", (DEPLOY / "README.md").read_text())
    (found,) = re.findall(r"exposure level for \S+: ([\d.]+)", done.stdout)
    assert float(found) <= float(told)
