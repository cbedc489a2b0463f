"""A stock Envoy, from its own package, over HTTP/3: its access log as the page on Envoy sets it up, followed live."""

import asyncio
import json
import os
import re
import subprocess
import sys
import textwrap
import time
from contextlib import ExitStack
from datetime import datetime
from pathlib import Path

import pytest
from quiclens_schema import store as stores
from serve_process import start
from stock_servers import ask, free_port, make_certificate

BIN = Path(sys.executable).parent
COLLECTOR = Path(os.environ.get("QUICLENS_COLLECTOR", "target/release/quiclens-collector"))
PAGE = (Path(__file__).parents[2] / "deploy" / "docs" / "servers" / "envoy.md").read_text()
CONNECTIONS, REQUESTS = 100, 10
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
              tls_certificates:
              - {{certificate_chain: {{filename: {folder}/chain.pem}}, private_key: {{filename: {folder}/key.pem}}}}
      filters:
      - name: envoy.filters.network.http_connection_manager
        typed_config:
          "@type": type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager
          codec_type: HTTP3
          stat_prefix: h3
{access_log}
          - name: envoy.access_loggers.file
            typed_config:
              "@type": type.googleapis.com/envoy.extensions.access_loggers.file.v3.FileAccessLog
              path: {folder}/default.log
          route_config:
            virtual_hosts:
            - name: all
              domains: ["*"]
              routes: [{{match: {{prefix: "/"}}, direct_response: {{status: 200, body: {{inline_string: hello}}}}}}]
          http_filters:
          - name: envoy.filters.http.router
            typed_config: {{"@type": type.googleapis.com/envoy.extensions.filters.http.router.v3.Router}}
"""

pytestmark = pytest.mark.skipif(not COLLECTOR.is_file(), reason="no quiclens-collector: cargo build --release")

LINES = """
SELECT external_id, time, time_is, method, path, authority, protocol, status, duration_us, response_bytes,
    client_network, more
FROM request_lines FINAL WHERE has(mapKeys(more), 'retransmitted') = {is_json:UInt8} LIMIT 100000"""


def of_page(kind: str) -> str:
    (block,) = re.findall(rf"^```{kind}\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    return str(block)


def test_each_request_of_a_stock_envoy_is_stored_as_it_was_logged(tmp_path: Path) -> None:
    make_certificate(tmp_path)
    port = free_port()
    access_log = textwrap.indent(of_page("yaml"), " " * 10).replace("/var/log/envoy", str(tmp_path))
    (tmp_path / "envoy.yaml").write_text(ENVOY.format(port=port, folder=tmp_path, access_log=access_log))
    with ExitStack() as ending:
        serve = start(tmp_path / "followed")
        ending.callback(serve.stop)
        config = tmp_path / "collector.toml"
        config.write_text(
            f'state_dir = "{tmp_path}/state"\ncpu_cap = 0\n{of_page("toml").replace("/var/log/envoy", str(tmp_path))}\n'
            f'[[access_log]]\npath = "{tmp_path}/default.log"\nformat = {{ preset = "envoy-default" }}\n'
            f'[sink]\nkind = "quiclens"\nurl = "{serve.url}"\n'
        )
        words = [
            str(BIN / "envoy"),
            "-c",
            str(tmp_path / "envoy.yaml"),
            "--log-level",
            "warning",
            "--base-id",
            str(port),
        ]
        with (tmp_path / "envoy.log").open("wb") as log, (tmp_path / "collector.log").open("wb") as told:
            for command, said in ((words, log), ([str(COLLECTOR), "run", str(config)], told)):
                process = subprocess.Popen(command, stdout=said, stderr=said)
                ending.callback(process.wait)
                ending.callback(process.terminate)
        asyncio.run(ask(port, CONNECTIONS, REQUESTS))
        until = time.monotonic() + 600
        with stores.open(serve.store_url) as store:
            # Envoy writes its logs every ten seconds.
            while store.query("SELECT count() FROM requests").one() != (2 * CONNECTIONS * REQUESTS,):
                assert time.monotonic() < until, (tmp_path / "collector.log").read_text()
                time.sleep(1)
            found = {row["external_id"]: row for row in store.query(LINES, {"is_json": 1}).dicts()}
            plain = {row["external_id"]: row for row in store.query(LINES, {"is_json": 0}).dicts()}
            links = store.query("SELECT link, count() FROM requests GROUP BY link").rows
            rejects = store.query("SELECT reason, bytes FROM rejects LIMIT 10").rows
    assert (links, rejects) == ([("none", 2 * CONNECTIONS * REQUESTS)], [])
    logged = [json.loads(line) for line in (tmp_path / "access.jsonl").read_text().splitlines()]
    assert {line["request_id"] for line in logged} == set(found) == set(plain)
    for line in logged:
        row, other = found[line["request_id"]], plain[line["request_id"]]
        assert row["time"] == datetime.fromisoformat(line["time"]) == other["time"]
        assert row["duration_us"] == line["duration"]
        assert row["response_bytes"] == line["response_bytes"] == other["response_bytes"] == len("hello")
        for name in ("method", "path", "authority", "status"):
            assert row[name] == line[name] == other[name], name
        assert (row["protocol"], row["time_is"], row["client_network"]) == ("h3", "start", "127.0.0.0/24")
        assert (other["protocol"], other["time_is"], other["client_network"]) == ("h3", "start", None)
        assert row["more"]["retransmitted"] == str(line["retransmitted"])
