"""The settings of `quiclens ingest`, from a small TOML file and the command line."""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from quiclens_schema.secret import SecretError, secret

DEFAULT_GROUP = "quiclens-ingest"
PASSWORD_VARIABLE = "QUICLENS_KAFKA_PASSWORD"


class SettingsError(Exception):
    """A setting is unknown, of another type or out of its range; one line for people."""


@dataclass(frozen=True, slots=True)
class IngestSettings:
    """One process that takes from Kafka. Every field has its unit in its name and a default that works."""

    brokers: str = "127.0.0.1:9092"
    """Where the cluster answers, host:port and more after commas."""
    group: str = DEFAULT_GROUP
    """The consumer group: processes of one group share the partitions."""
    instance: str = ""
    """This process's name in the group, where it is to keep its partitions while it starts again within 30 seconds
    (`group.instance.id`); no two that run may have the same. Without one they go to others at once, and come back."""
    kafka: Mapping[str, str] = field(default_factory=dict)
    """More for the client, by librdkafka's names (TLS, SASL). `sasl.password` comes from QUICLENS_KAFKA_PASSWORD, or
    the file that QUICLENS_KAFKA_PASSWORD_FILE names."""
    block_rows: int = 250_000
    """Rows at which a block is stored."""
    block_bytes: int = 64 << 20
    """Bytes in memory at which a block is stored."""
    block_age_ms: int = 1_000
    """Age of its oldest message at which a block is stored."""
    held_bytes_max: int = 512 << 20
    """Bytes of messages in memory that are not yet stored: half of it for whoever needs it, the other half dealt out to
    the topics. A topic is paused that has used up both."""
    message_bytes_max: int = 16 << 20
    """Bytes of a message, past which it is a reject; eight times that when decompressed, its dictionaries as plain
    columns."""
    inserts_at_once: int = 2
    """Blocks of different tables that are stored at the same time."""
    link_seconds: float = 5.0
    """How often what came is linked, at most two thirds of the time; 0 leaves it to others."""
    count_seconds: float = 15.0
    """How often what changed is counted in rollups."""
    drain_seconds: float = 25.0
    """How long an ending process, or one that loses partitions, finishes what it holds; less than supervisors wait."""
    metrics_address: str = "127.0.0.1:9464"
    """Where /metrics and /healthz answer; empty for nowhere."""

    def document(self) -> dict[str, Any]:
        """The effective values, without the client's, which may be secret."""
        return {**asdict(self), "kafka": sorted(self.kafka)}


_INSTANCE = re.compile(r"[A-Za-z0-9._-]{0,249}")
_MINIMUM = {
    "block_rows": 1,
    "block_bytes": 1 << 10,
    "block_age_ms": 1,
    "held_bytes_max": 1 << 20,
    "message_bytes_max": 1 << 10,
    "inserts_at_once": 1,
    "link_seconds": 0,
    "count_seconds": 0,
    "drain_seconds": 0,
}


def read(path: Path | None, given: Mapping[str, Any]) -> IngestSettings:
    """The file's settings with those given on the command line in front; SettingsError for what cannot be."""
    document: dict[str, Any] = {}
    if path is not None:
        try:
            document = tomllib.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise SettingsError(f"cannot read {path}: {error}") from error
    document |= given
    types = {each.name: type(getattr(IngestSettings(), each.name)) for each in fields(IngestSettings)}
    if unknown := sorted(set(document) - set(types)):
        raise SettingsError(f"unknown settings: {', '.join(unknown)}; there are {', '.join(types)}")
    for name, value in document.items():
        wanted = types[name]
        if wanted is float and type(value) is int:
            document[name] = value = float(value)
        if type(value) is not wanted:
            raise SettingsError(f"{name} cannot be {value!r}")
        if name == "instance" and not _INSTANCE.fullmatch(value):
            raise SettingsError(f"instance cannot be {value!r}: Kafka takes letters, digits, '.', '_' and '-'")
        if name in _MINIMUM and value < _MINIMUM[name]:
            raise SettingsError(f"{name} is at least {_MINIMUM[name]}")
    document["kafka"] = {str(key): str(value) for key, value in document.get("kafka", {}).items()}
    try:
        if known := password():
            document["kafka"]["sasl.password"] = known
    except SecretError as error:
        raise SettingsError(str(error)) from error
    return IngestSettings(**document)


def password() -> str:
    """Kafka's password as it is now, which may be another than at the start; "" where nobody gave one. SecretError
    where it cannot be had."""
    return secret(PASSWORD_VARIABLE)
