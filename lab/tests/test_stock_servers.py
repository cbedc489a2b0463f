"""What tests of servers came to is read from pytest's own report; a skipped one proves nothing."""

from pathlib import Path

import pytest

from quiclens_lab.errors import LabError
from quiclens_lab.machine import LAB
from quiclens_lab.stock_servers import command
from quiclens_lab.stock_servers.command import PROOFS, Proof, missed, ran
from quiclens_lab.stock_servers.reports import Server, by_server, cases

WRITTEN = """
import pytest
from types import SimpleNamespace

LINKED_BY = {"quiche": "alias", "quinn": "none", "aioquic": "id"}

@pytest.fixture(scope="module")
def servers():
    def linked(*links):
        return SimpleNamespace(requests=[{"link": link} for link in links])
    return {
        "quiche": linked("alias", "alias", "alias", "none"),
        "quinn": linked("none", "none"),
        "aioquic": linked("id"),
    }

@pytest.fixture(params=["quiche", "quinn", "aioquic"])
def name(request):
    if request.param == "aioquic":
        pytest.skip("it is not built")
    return request.param

def test_one(name, servers): ...

def test_other(name, servers):
    assert name != "quinn", "no streams"
"""


@pytest.fixture
def found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Server]:
    (tmp_path / "test_written.py").write_text(WRITTEN)
    monkeypatch.setattr(command, "LAB", tmp_path / "lab")
    ran(Proof("test_written.py", ("quiche",)), tmp_path / "report.xml")
    return by_server(cases(tmp_path / "report.xml", "quiche"))


def test_each_server_has_its_tests_and_its_figures(found: dict[str, Server]) -> None:
    assert found["quiche"] == Server(2, [], [], requests=4, linked=3, linked_by="alias")
    assert (found["quiche"].passes, found["quiche"].linked_share) == (True, 0.75)
    assert (found["quinn"].requests, found["quinn"].linked_by, found["quinn"].passes) == (2, "none", False)
    assert missed("quiche", found["quiche"], 4) == ["quiche: linked are 0.75, 0.99 are wanted"]
    assert missed("quiche", found["quiche"], 5)[0] == "quiche: 4 requests, 5 are wanted"
    (failed,) = missed("quinn", found["quinn"], 1)
    assert failed.startswith("quinn: failed: test_other[quinn]: AssertionError: no streams")


def test_what_is_skipped_or_not_there_is_missed(found: dict[str, Server]) -> None:
    assert len(found["aioquic"].skipped) == 2 and not found["aioquic"].passes
    assert "quiclens" not in found and missed("quiclens", Server(), 1) == ["quiclens: no test of it ran"]
    assert any("it is not built" in each for each in missed("aioquic", found["aioquic"], 1))


def test_a_report_without_a_test_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "report.xml").write_text("<testsuites><testsuite/></testsuites>")
    with pytest.raises(LabError, match="ran no test for caddy"):
        list(cases(tmp_path / "report.xml", "caddy"))


def test_the_files_of_tests_are_there() -> None:
    assert all((LAB.parent / tests.file).is_file() for tests in PROOFS)
    assert {name for tests in PROOFS for name in tests.servers} == {
        *("caddy", "envoy", "ngtcp2", "quiche", "quic-go", "aioquic", "quinn")
    }
