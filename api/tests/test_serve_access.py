"""Who may do what: tokens, roles, addresses."""

import base64
import hashlib

import pytest
from api_ran import Run
from serve_process import Served

from quiclens_questions.failure import UsageMistake
from quiclens_web.front.access import is_loopback
from quiclens_web.front.serving import address
from quiclens_web.front.tokens import Role, TokenError, digest, read

WRITE = "INSERT INTO link_pending (token) VALUES ('x')"


def asked(served: Served, sql: str, **headers: str) -> int:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return served.request(sql.encode(), "POST", "/", named).status


def basic(token: str) -> str:
    return "Basic " + base64.b64encode(f"anyone:{token}".encode()).decode()


def test_without_a_token_only_ping_answers(guarded: Served) -> None:
    assert guarded.ask(method="GET", path="/ping").status == 200
    assert guarded.ask("SELECT 1").status == 401 and guarded.ask("SELECT 1").code == 516
    assert guarded.ask(method="GET", path="/metrics").status == 401
    assert asked(guarded, "SELECT 1", X_ClickHouse_Key="wrong") == 403
    assert asked(guarded, "SELECT 1", Authorization="Basic !!!") == 401
    assert guarded.ask("SELECT 1", user="x", password="write").status == 401


def test_a_users_name_may_stand_in_the_url_and_a_token_may_not(served: Served, guarded: Served) -> None:
    assert served.ask("SELECT 1", user="default", password="").body == b"1\n"
    got = guarded.request(b"SELECT 1", "POST", "/?user=x&password=write", {"X-ClickHouse-Key": "write"})
    assert got.status == 403 and "does not belong in a URL" in got.text


@pytest.mark.parametrize("token", ["read", "write"])
def test_a_token_is_taken_in_each_of_its_places(guarded: Served, token: str) -> None:
    assert asked(guarded, "SELECT 1", X_ClickHouse_User="x", X_ClickHouse_Key=token) == 200
    assert asked(guarded, "SELECT 1", Authorization=basic(token)) == 200
    assert asked(guarded, "SELECT 1", Authorization=f"Bearer {token}") == 200
    assert guarded.request(b"", "GET", "/metrics", {"Authorization": f"Bearer {token}"}).status == 200


def test_a_reader_reads_and_sets_limits_and_nothing_else(guarded: Served) -> None:
    assert asked(guarded, "SELECT count() FROM requests SETTINGS max_threads = 1", X_ClickHouse_Key="read") == 200
    for sql in (
        WRITE,
        "INSERT INTO link_pending (token) FORMAT TSV\nx",
        "INSERT INTO link_pending (token) SELECT 'x'",
        "CREATE TABLE mine (a UInt8) ENGINE = Memory",
        "DROP TABLE IF EXISTS mine",
        "ALTER TABLE connections ADD COLUMN x UInt8",
        "DELETE FROM link_pending WHERE 1",
        "OPTIMIZE TABLE events",
    ):
        got = guarded.request(sql.encode(), "POST", "/", {"X-ClickHouse-Key": "read"})
        assert got.code == 164, got.text


def test_a_digest_stands_for_its_token_and_a_short_token_for_nothing() -> None:
    long = "t" * 16
    assert digest("sha256:" + hashlib.sha256(long.encode()).hexdigest()) == digest(long)
    for wrong in ("sha256:12", "sha256:no hex", "t" * 15, ""):
        with pytest.raises(TokenError):
            digest(wrong)


HEX = "sha256:" + "ab" * 32


def test_a_file_of_tokens_has_one_on_a_line() -> None:
    text = f"# who\ngrafana reader {HEX}  # dashboards\n\nedge-1\tuploader\tsha256:{'cd' * 32}\n"
    assert [(each.name, each.role) for each in read(text)] == [("grafana", Role.READER), ("edge-1", Role.UPLOADER)]


@pytest.mark.parametrize(
    ("line", "says"),
    [
        (f"grafana {HEX}", "line 2: a line is"),
        (f"grafana admin {HEX}", "'admin' is no role"),
        (f"gra/fana reader {HEX}", "is no name"),
        ("grafana reader secret-in-clear-text", "digests alone"),
        ("grafana reader sha256:12", "64 hex digits"),
        (f"ada reader sha256:{'cd' * 32}", "one name"),
        (f"grafana reader sha256:{'ef' * 32}", "one token"),
    ],
)
def test_a_line_that_is_no_token_is_told_with_its_number(line: str, says: str) -> None:
    with pytest.raises(TokenError, match=says):
        read(f"ada writer sha256:{'ef' * 32}\n{line}\n")


def test_loopback_is_this_machine_and_no_other() -> None:
    assert all(map(is_loopback, ("127.0.0.1", "127.9.9.9", "::1", "[::1]", "localhost", "LocalHost.")))
    assert not any(map(is_loopback, ("0.0.0.0", "::", "10.0.0.1", "localhost.example", "", "127.0.0.1.example")))


def test_an_address_is_read_or_refused() -> None:
    assert address("127.0.0.1:8123") == ("127.0.0.1", 8123) and address("[::1]:1") == ("::1", 1)
    assert address(":8123") == ("127.0.0.1", 8123) and address("8123") == ("127.0.0.1", 8123)
    for wrong in ("", "host", "host:", "host:70000", "host:-1"):
        with pytest.raises(UsageMistake):
            address(wrong)


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("--listen", "0.0.0.0:0"), 2),
        (("--listen", "nonsense"), 2),
        (("--keep-events", "soon"), 2),
        (("--max-disk-gb", "-1"), 2),
        (("--store", "ftp://host/x"), 3),
        (("--store", "http://127.0.0.1:1/x", "--listen", "127.0.0.1:0"), 3),
        (("--listen", "192.0.2.1:1"), 2),  # which no machine has: the token comes first
        (("--listen", "0.0.0.0:0", "--tls-cert", "no.pem"), 2),
        (("--tls-cert", "no.pem", "--tls-key", "no.pem"), 3),
        (("--tokens", "no/such/file"), 3),
        (("--tokens", "/dev/null", "--listen", "0.0.0.0:0", "--behind-tls-proxy"), 2),
        (("--user-header", "x-user", "--trust-proxy", "10.0.0.0/99"), 2),
        (("--user-header", "x-user", "--trust-proxy", "proxy.example"), 2),
    ],
)
def test_a_wrong_command_line_serves_nothing(
    run: Run, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], code: int
) -> None:
    monkeypatch.delenv("QUICLENS_SERVE_TOKEN", raising=False)
    assert run("serve", *words, "--json").code == code


@pytest.mark.parametrize(
    ("variable", "value", "says"),
    [
        ("QUICLENS_SERVE_TOKEN", "short", "at least 16 characters"),
        ("QUICLENS_SERVE_TOKEN", "t" * 16, "tokens would go there in clear"),
        ("QUICLENS_SERVE_SESSION_KEY", "short", "less than 32"),
    ],
)
def test_what_would_not_be_safe_is_not_served(
    run: Run, monkeypatch: pytest.MonkeyPatch, variable: str, value: str, says: str
) -> None:
    monkeypatch.setenv(variable, value)
    listen = "127.0.0.1:0" if variable.endswith("KEY") else "0.0.0.0:0"
    ran = run("serve", "--listen", listen, "--json")
    assert ran.code == 2 and says in ran.document["error"]["message"]


def test_a_taken_port_is_one_line(run: Run, served: Served) -> None:
    ran = run("serve", "--listen", f"127.0.0.1:{served.port}", "--json")
    assert ran.code == 3 and ran.document["error"]["code"] == "cannot_listen"
