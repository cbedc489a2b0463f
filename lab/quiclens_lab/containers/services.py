"""What the compose file says of its services, as podman-compose reads it: after whom each starts, when it is well."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from pydantic import TypeAdapter


@dataclass(frozen=True, slots=True)
class After:
    condition: str = "service_started"


@dataclass(frozen=True, slots=True)
class Service:
    """One of the compose file; what is not named here is podman-compose's alone."""

    image: str
    depends_on: Mapping[str, After] = field(default_factory=dict)
    profiles: tuple[str, ...] = ()
    healthcheck: Mapping[str, object] | None = None
    build: Mapping[str, object] | str | None = None
    restart: str = "no"

    @property
    def ends(self) -> bool:
        """It does its work once, and is not started again after it."""
        return self.restart in ("no", "on-failure")


_DOCUMENT = TypeAdapter(dict[str, Service])


def read(document: str) -> dict[str, Service]:
    """The services of a compose document, written as JSON."""
    return _DOCUMENT.validate_python(json.loads(document)["services"])


def chosen(services: Mapping[str, Service], profiles: Iterable[str]) -> list[str]:
    """Who is started with these profiles, each behind those on whom it depends."""
    wanted = [name for name, each in services.items() if not each.profiles or set(each.profiles) & set(profiles)]
    ordered: list[str] = []

    def add(name: str) -> None:
        if name in ordered:
            return
        for before in services[name].depends_on:
            add(before)
        ordered.append(name)

    for name in wanted:
        add(name)
    return ordered
