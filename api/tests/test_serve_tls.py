"""TLS, and what is read again without stopping: a certificate, and the file of tokens."""

import hashlib
import http.client
import json
import signal
import socket
import ssl
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from quiclens_schema import store as stores
from quiclens_schema.served import ServedStore, StoreOperation
from quiclens_schema.store import StoreError
from serve_process import Served, start, start_words, until

NAME = "lens.example"


def certify(folder: Path, host: str = NAME) -> tuple[Path, Path]:
    """A new certificate for a host, signed by itself, and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, host)])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(host)]), critical=False)
        .sign(key, hashes.SHA256())
    )
    certificate, private = folder / "chain.pem", folder / "key.pem"
    certificate.write_bytes(made.public_bytes(serialization.Encoding.PEM))
    private.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    return certificate, private


def line(name: str, role: str, token: str) -> str:
    return f"{name} {role} sha256:{hashlib.sha256(token.encode()).hexdigest()}\n"


def asked(served: Served, certificate: Path, path: str, **headers: str) -> tuple[int, bytes]:
    """The answer over TLS, to whoever trusts this certificate alone."""
    trust = ssl.create_default_context(cafile=str(certificate))
    with (
        socket.create_connection(("127.0.0.1", served.port), 20) as wire,
        trust.wrap_socket(wire, server_hostname=NAME) as secure,
    ):
        connection = http.client.HTTPConnection(NAME, served.port)
        connection.sock = secure
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        connection.request("GET", path, headers={"Host": NAME, **named})
        answer = connection.getresponse()
        return answer.status, answer.read()


def test_the_store_is_served_over_tls_and_reloads_what_lets_in(tmp_path: Path) -> None:
    folder = tmp_path / "etc"
    folder.mkdir()
    certificate, key = certify(folder)
    tokens = folder / "tokens"
    tokens.write_text(line("grafana", "reader", "first") + line("edge-1", "uploader", "up"))
    served = start(
        tmp_path / "store",
        *("--tls-cert", str(certificate), "--tls-key", str(key), "--tokens", str(tokens), "--public-host", NAME),
    )
    try:
        assert served.url.startswith("https://")
        assert asked(served, certificate, "/ping") == (200, b"Ok.\n")
        assert asked(served, certificate, "/?query=SELECT+1", X_ClickHouse_Key="first") == (200, b"1\n")
        assert asked(served, certificate, "/?query=SELECT+1")[0] == 401
        assert asked(served, certificate, "/?query=SELECT+1", X_ClickHouse_Key="up")[0] == 403
        assert asked(served, certificate, "/metrics", X_ClickHouse_Key="up")[0] == 403
        assert asked(served, certificate, "/metrics", X_ClickHouse_Key="first")[0] == 200
        with pytest.raises((http.client.HTTPException, OSError)):
            served.ask(method="GET", path="/ping")  # not in clear

        tokens.write_text(line("grafana", "reader", "second"))
        new, _ = certify(folder)
        served.process.send_signal(signal.SIGHUP)

        def changed() -> bool:
            try:
                return asked(served, new, "/?query=SELECT+1", X_ClickHouse_Key="second")[0] == 200
            except ssl.SSLError:
                return False

        assert until(changed)
        assert asked(served, new, "/?query=SELECT+1", X_ClickHouse_Key="first")[0] == 403

        tokens.write_text("no token at all\n")
        key.write_text("no key")
        served.process.send_signal(signal.SIGHUP)
        assert until(lambda: served.logged().count("not reloaded") == 2)
        assert asked(served, new, "/?query=SELECT+1", X_ClickHouse_Key="second")[0] == 200
    finally:
        assert served.stop() == 0


def test_a_store_behind_tls_is_opened_by_its_authority_and_by_the_password_of_the_moment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "etc"
    folder.mkdir()
    certificate, key = certify(folder, "localhost")
    tokens, password = folder / "tokens", tmp_path / "password"
    tokens.write_text(line("ingest", "writer", "first"))
    options = ("--tls-cert", str(certificate), "--tls-key", str(key), "--tokens", str(tokens))
    served = start(tmp_path / "store", *options, "--public-host", "localhost")
    url = f"https://quiclens@localhost:{served.port}/default"
    password.write_text("first\n")
    monkeypatch.setenv(f"{stores.PASSWORD_VARIABLE}_FILE", str(password))
    try:
        monkeypatch.delenv("SSL_CERT_FILE", raising=False)
        with pytest.raises(StoreError, match=r"(?i)certificate"):
            stores.open(url)
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
        with stores.open(url) as store:
            assert isinstance(store, ServedStore)
            assert store.query("SELECT 1").one() == (1,)
            store.operate(StoreOperation.LINK, dict)
            # Another file of that name, as mounted secrets are replaced.
            (folder / "new").write_text(line("ingest", "writer", "second"))
            (folder / "new").rename(tokens)
            served.process.send_signal(signal.SIGHUP)

            def is_refused() -> bool:
                try:
                    store.query("SELECT 1")
                except StoreError as error:
                    return error.code in stores.NOT_LET_IN
                return False

            assert until(is_refused)
            with pytest.raises(StoreError, match="token"):
                store.operate(StoreOperation.LINK, dict)
            password.write_text("second\n")
            assert store.query("SELECT 1").one() == (1,)
            store.operate(StoreOperation.LINK, dict)
    finally:
        assert served.stop() == 0


def test_a_proxy_that_speaks_tls_is_believed_and_cookies_are_for_tls(tmp_path: Path, served: Served) -> None:
    tokens = tmp_path / "tokens"
    tokens.write_text(line("ada", "reader", "read"))
    options = ("--behind-tls-proxy", "--tokens", str(tokens), "--public-host", NAME)
    pages = start_words(tmp_path, "--store", served.url, *options)
    try:
        form = {"Content-Type": "application/x-www-form-urlencoded", "Host": NAME}
        begun = pages.request(b"token=read", "POST", "/login", {**form, "Origin": f"https://{NAME}"})
        assert begun.status == 303 and begun.headers["set-cookie"].startswith("__Host-quiclens_session=")
    finally:
        assert pages.stop() == 0


def test_the_audit_log_stands_before_every_door(tmp_path: Path) -> None:
    tokens, log = tmp_path / "tokens", tmp_path / "audit.jsonl"
    tokens.write_text(line("grafana", "reader", "read"))
    served = start(tmp_path / "store", "--tokens", str(tokens), "--audit-log", str(log))
    try:
        assert served.ask("SELECT 1").status == 401
        assert served.request(b"SELECT count() FROM requests", "POST", "/", {"X-ClickHouse-Key": "read"}).status == 200
        assert served.request(b"", "GET", "/api/v1/status", {"X-ClickHouse-Key": "wrong"}).status == 403
        assert served.request(b"", "POST", "/store/operations/link", {"X-ClickHouse-Key": "read"}).status == 403
    finally:
        assert served.stop() == 0
    lines = [json.loads(each) for each in log.read_text().splitlines()]
    assert [(each["who"], each["path"], each["refused"]) for each in lines] == [
        ("", "/", "token_needed"),
        ("grafana", "/", ""),
        ("", "/api/v1/status", "wrong_token"),
        ("grafana", "/store/operations/link", ""),
    ]


def test_who_never_ends_a_handshake_stops_nobody(tmp_path: Path) -> None:
    """More of them than a peer may have connections: each is counted from its first moment, the oldest goes."""
    certificate, key = certify(tmp_path)
    served = start(tmp_path / "store", "--tls-cert", str(certificate), "--tls-key", str(key), "--public-host", NAME)
    idle = [socket.create_connection(("127.0.0.1", served.port), 20) for _ in range(1100)]
    try:
        assert asked(served, certificate, "/ping") == (200, b"Ok.\n")
        text = asked(served, certificate, "/metrics")[1].decode()
        held = next(line for line in text.splitlines() if line.startswith("quiclens_serve_connections "))
        assert float(held.split()[-1]) <= 1025, held
        assert 'quiclens_serve_connections_closed_total{why="crowded"}' in text
    finally:
        for each in idle:
            each.close()
        served.stop()


def test_what_is_no_tls_is_closed_and_counted(tmp_path: Path) -> None:
    certificate, key = certify(tmp_path)
    served = start(tmp_path / "store", "--tls-cert", str(certificate), "--tls-key", str(key), "--public-host", NAME)
    with socket.create_connection(("127.0.0.1", served.port), 20) as plain:
        plain.sendall(b"GET / HTTP/1.1\r\n\r\n")
        while plain.recv(4096):
            pass
    text = asked(served, certificate, "/metrics")[1].decode()
    assert 'quiclens_serve_connections_closed_total{why="handshake"} 1.0' in text
    assert served.stop() == 0
