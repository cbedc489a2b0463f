"""What commands are told of Kafka: a settings file, the command line, a secret from the environment."""

from pathlib import Path

import pytest
from api_ran import Run

from quiclens_command_line.commands import migrate


@pytest.fixture
def config(tmp_path: Path) -> Path:
    path = tmp_path / "ingest.toml"
    path.write_text('brokers = "127.0.0.1:1"\n[kafka]\n"security.protocol" = "SASL_SSL"\n')
    return path


def test_check_prints_what_is_in_effect_and_no_secret(run: Run, config: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("QUICLENS_KAFKA_PASSWORD", "hunter2")
    ran = run("ingest", "--config", str(config), "--group", "other", "--metrics", "", "--check", "--json")
    assert ran.code == 0
    assert (ran.document["brokers"], ran.document["group"]) == ("127.0.0.1:1", "other")
    assert ran.document["metrics_address"] == ""
    assert ran.document["kafka"] == ["sasl.password", "security.protocol"]
    assert "hunter2" not in ran.out + run("ingest", "--config", str(config), "--check").out


def test_check_stops_at_a_setting_that_is_unknown(run: Run, config: Path) -> None:
    config.write_text("block_row = 1\n")
    ran = run("ingest", "--config", str(config), "--check", "--json")
    assert (ran.code, ran.document["error"]["code"]) == (2, "usage")
    assert "unknown settings: block_row" in ran.document["error"]["message"]


def test_migrate_says_when_no_broker_answers_and_leaves_the_store(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(migrate, "_BROKER_SECONDS", 0)
    ran = run("migrate", "--brokers", "127.0.0.1:1", "--store", f"chdb:{tmp_path}/store", "--json")
    assert (ran.code, ran.document["error"]["code"]) == (3, "no_broker")
    assert not (tmp_path / "store").exists()


def test_status_takes_the_brokers_from_the_file(run: Run, config: Path) -> None:
    config.write_text('brokers = "127.0.0.1:1"\n')
    ran = run("status", "--config", str(config), "--json")
    assert (ran.code, ran.document["error"]["code"]) == (3, "no_broker")
