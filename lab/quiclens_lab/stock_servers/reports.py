"""What pytest's report says of each server."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from xml.etree import ElementTree

from quiclens_lab.errors import LabError


@dataclass(slots=True)
class Server:
    """What the tests of one server came to."""

    passed: int = 0
    failed: list[str] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    requests: int | None = None
    linked: int | None = None
    """Requests that have their trace; none where the server's own log has no streams."""
    linked_by: str = ""

    @property
    def passes(self) -> bool:
        return bool(self.passed) and not self.failed and not self.skipped

    @property
    def linked_share(self) -> float | None:
        return self.linked / self.requests if self.requests and self.linked is not None else None


@dataclass(frozen=True, slots=True)
class Case:
    """One test of one server, as the report has it."""

    name: str
    server: str
    outcome: str
    why: str
    properties: dict[str, str]


def cases(report: Path, server_of_file: str) -> Iterator[Case]:
    """The tests in a report of pytest; of a test with a parameter that is the server's name, else `server_of_file` is.
    LabError for a report that has no test."""
    found = list(ElementTree.parse(report).getroot().iter("testcase"))
    if not found:
        raise LabError(f"pytest ran no test for {server_of_file}")
    for each in found:
        name = each.get("name", "")
        parameter = re.search(r"\[(.+)\]$", name)
        outcome, why = "passed", ""
        for child in each:
            if child.tag in ("failure", "error", "skipped"):
                outcome = "skipped" if child.tag == "skipped" else "failed"
                why = (child.get("message") or "").strip().splitlines()[0] if child.get("message") else child.tag
        properties = {each.get("name", ""): each.get("value", "") for each in each.iter("property")}
        yield Case(name, parameter[1] if parameter else server_of_file, outcome, why, properties)


def by_server(found: Iterable[Case]) -> dict[str, Server]:
    servers: dict[str, Server] = {}
    for case in found:
        server = servers.setdefault(case.server, Server())
        if case.outcome == "passed":
            server.passed += 1
        else:
            (server.skipped if case.outcome == "skipped" else server.failed).append(f"{case.name}: {case.why}")
        for name in ("requests", "linked"):
            if name in case.properties:
                setattr(server, name, int(case.properties[name]))
        server.linked_by = case.properties.get("linked_by", server.linked_by)
    return servers
