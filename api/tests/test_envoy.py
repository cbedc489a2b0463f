"""A stock Envoy, from its own package, over HTTP/3 and HTTP/2: its access log as its page sets it up, followed live."""

import asyncio
import json
import re
import textwrap
import time
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from datetime import datetime
from pathlib import Path

from quiclens_lab.ports import free_port
from quiclens_schema import store as stores
from serve_process import start
from stock_servers import BIN, COLLECTOR, ask, ask_http2, make_certificate, needs_collector, running

PAGE = (Path(__file__).parents[2] / "deploy" / "docs" / "servers" / "envoy.md").read_text()
CONNECTIONS, REQUESTS = 100, 10
HTTP2_CONNECTIONS = 20
ASKED = {f"live-{number}-{request}" for number in range(CONNECTIONS) for request in range(REQUESTS)}
ASKED |= {f"h2-{number}-{request}" for number in range(HTTP2_CONNECTIONS) for request in range(REQUESTS)}
PROTOCOLS = {"HTTP/3": "h3", "HTTP/2": "h2"}
# The page's log, and Envoy's default format beside it.
ENVOY = """
static_resources:
  listeners:
  - address: {{socket_address: {{protocol: UDP, address: 127.0.0.1, port_value: {port}}}}}
    udp_listener_config: {{quic_options: {{}}}}
    filter_chains:
    - transport_socket:
        name: envoy.transport_sockets.quic
        typed_config:
          "@type": type.googleapis.com/envoy.extensions.transport_sockets.quic.v3.QuicDownstreamTransport
          downstream_tls_context:
            common_tls_context:
              tls_certificates: &certificates
              - {{certificate_chain: {{filename: {folder}/chain.pem}}, private_key: {{filename: {folder}/key.pem}}}}
      filters:
      - name: envoy.filters.network.http_connection_manager
        typed_config:
          "@type": &manager
            type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager
          codec_type: HTTP3
          stat_prefix: h3
{access_log}
          - name: envoy.access_loggers.file
            typed_config:
              "@type": type.googleapis.com/envoy.extensions.access_loggers.file.v3.FileAccessLog
              path: {folder}/default.log
          route_config: &routes
            virtual_hosts:
            - name: all
              domains: ["*"]
              routes: [{{match: {{prefix: "/"}}, direct_response: {{status: 200, body: {{inline_string: hello}}}}}}]
          http_filters: &filters
          - name: envoy.filters.http.router
            typed_config: {{"@type": type.googleapis.com/envoy.extensions.filters.http.router.v3.Router}}
  - address: {{socket_address: {{address: 127.0.0.1, port_value: {port}}}}}
    filter_chains:
    - transport_socket:
        name: envoy.transport_sockets.tls
        typed_config:
          "@type": type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.DownstreamTlsContext
          common_tls_context: {{alpn_protocols: [h2], tls_certificates: *certificates}}
      filters:
      - name: envoy.filters.network.http_connection_manager
        typed_config:
          "@type": *manager
          stat_prefix: h2
          access_log: *access_log
          route_config: *routes
          http_filters: *filters
"""
LINES = """
SELECT log_id, external_id, time, time_is, method, path, authority, protocol, status, duration_us, request_bytes,
    response_bytes, client_network, connection_id, more
FROM request_lines FINAL LIMIT 100000"""

pytestmark = needs_collector


def of_page(kind: str, folder: Path) -> str:
    """The settings of that kind, for logs in a folder."""
    (block,) = re.findall(rf"^```{kind}\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    return str(block).replace("/var/log/envoy", str(folder))


def stored(line: Mapping[str, str | int]) -> dict[str, object]:
    """The row that a line of the page's log is to become; only HTTP/3 has a round trip, once all is acknowledged."""
    more = {name: json.dumps(line[name]) for name in ("retransmitted", "roundtrip") if line[name] is not None}
    assert line["protocol"] == "HTTP/3" or "roundtrip" not in more
    return {
        "external_id": line["request_id"],
        "time": datetime.fromisoformat(str(line["time"])),
        "time_is": "start",
        "protocol": PROTOCOLS[str(line["protocol"])],
        "duration_us": line["duration"],
        "client_network": "127.0.0.0/24",
        "connection_id": None,
        "more": more,
        **{name: line[name] for name in ("method", "path", "authority", "status", "request_bytes", "response_bytes")},
    }


def by_id(rows: Iterable[dict[str, object]]) -> list[dict[str, object]]:
    return sorted(rows, key=lambda row: str(row["external_id"]))


def test_each_request_of_a_stock_envoy_is_stored_as_it_was_logged(tmp_path: Path) -> None:
    make_certificate(tmp_path)
    port = free_port()
    access_log = of_page("yaml", tmp_path).replace("access_log:", "access_log: &access_log", 1)
    access_log = textwrap.indent(access_log, " " * 10)
    (tmp_path / "envoy.yaml").write_text(ENVOY.format(port=port, folder=tmp_path, access_log=access_log))
    with ExitStack() as ending:
        serve = start(tmp_path / "followed")
        ending.callback(serve.stop)
        config = tmp_path / "collector.toml"
        config.write_text(
            f'state_dir = "{tmp_path}/state"\ncpu_cap = 0\n{of_page("toml", tmp_path)}\n'
            f'[[access_log]]\npath = "{tmp_path}/default.log"\nformat = {{ preset = "envoy-default" }}\n'
            f'[sink]\nkind = "quiclens"\nurl = "{serve.url}"\n'
        )
        options = ["--log-level", "warning", "--base-id", str(port)]
        words: list[str | Path] = [BIN / "envoy", "-c", tmp_path / "envoy.yaml", *options]
        ending.enter_context(running(words, tmp_path / "envoy.log"))
        ending.enter_context(running([COLLECTOR, "run", config], tmp_path / "collector.log"))
        asyncio.run(ask(port, CONNECTIONS, REQUESTS))
        ask_http2(port, HTTP2_CONNECTIONS, REQUESTS)
        until = time.monotonic() + 600
        with stores.open(serve.store_url) as store:
            # Envoy writes its logs every ten seconds.
            while store.query("SELECT count() FROM requests").one() < (2 * len(ASKED),):
                assert time.monotonic() < until, (tmp_path / "collector.log").read_text()
                time.sleep(1)
            rows = store.query(LINES).dicts()
            links = store.query("SELECT link, coverage, count() FROM requests GROUP BY ALL").rows
            rejects = store.query("SELECT reason, bytes FROM rejects LIMIT 10").rows
    assert (links, rejects) == ([("none", "none", 2 * len(ASKED))], [])
    logged = [json.loads(line) for line in (tmp_path / "access.jsonl").read_text().splitlines()]
    assert sorted(line["request_id"] for line in logged) == sorted(ASKED)
    assert {line["protocol"] for line in logged} == set(PROTOCOLS)
    wanted = by_id(map(stored, logged))
    plain = [line.split() for line in (tmp_path / "default.log").read_text().splitlines()]
    durations_ms = {words[12].strip('"'): int(words[8]) for words in plain}
    of_logs: dict[object, list[dict[str, object]]] = {}
    for row in rows:
        of_logs.setdefault(row.pop("log_id"), []).append(row)
    by_page, by_default = sorted(of_logs.values(), key=lambda log: log[0]["client_network"] is None)
    assert by_id(by_page) == wanted
    assert by_id(by_default) == [
        {**row, "duration_us": durations_ms[str(row["external_id"])] * 1000, "client_network": None, "more": {}}
        for row in wanted
    ]
