"""What `make containers` looks for is found where it stands; its override is of services that are there."""

from pathlib import Path
from typing import Any

import yaml

from quiclens_lab.containers import command, composed

ROOT = Path(__file__).resolve().parents[2]


def test_a_secret_is_found_wherever_a_line_of_it_stands() -> None:
    secrets = {
        "store": b"hunter2",
        "web.key": b"-----BEGIN PRIVATE KEY-----\nMIIEvQ\nAbCd==\n-----END PRIVATE KEY-----",
    }
    texts = {
        "a log": "begun\npassword=hunter2 given\n",
        "metrics": "# AbCd==\n",
        "check": "-----BEGIN PRIVATE KEY-----\n",
    }
    assert command._among(texts, secrets) == [("a log", "store"), ("metrics", "web.key")]


def test_the_override_is_of_services_that_are_there() -> None:
    # Compose's marks say what replaces a value, and does not add to it.
    loader: Any = type("Loader", (yaml.SafeLoader,), {})
    loader.add_multi_constructor("!", lambda _, mark, node: None)
    override = yaml.load(composed.OVERRIDE.read_text(), loader)
    services = yaml.safe_load((ROOT / "deploy" / "compose.yaml").read_text())["services"]
    assert set(override["services"]) <= set(services)
    assert set(command._SERVICES) <= set(services)
