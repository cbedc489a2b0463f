"""`status` as a screen, and the freshness that it reads from a running ingest."""

from datetime import UTC, datetime

import pytest
from api_ran import Run
from prometheus_client import generate_latest
from quiclens_ingest.metrics import IngestMetrics, serve
from quiclens_schema import store as stores
from rich.console import Console
from rich.text import Text

from quiclens_command_line.show.status import status_view
from quiclens_questions.freshness import read
from quiclens_questions.status import status as ask_status


def test_the_first_lines_say_what_works(store_url: str) -> None:
    with stores.open(store_url) as store:
        found = ask_status(store, "", datetime.now(UTC))
    found.params.update(lag=None, freshness=None)
    lines = list(status_view(found))
    checks = found.params["checks"]
    for line, check, colour in zip(lines, checks, ("red", "dim"), strict=False):
        assert isinstance(line, Text) and str(line).startswith(f"● {check['name']}")
        assert str(line).endswith(check["says"]) and colour in repr(line.spans)
    assert [str(line) for line in lines[-len(found.params["next_steps"]) :]] == [
        f"next      {step}" for step in found.params["next_steps"]
    ]


def test_it_fits_one_screen_and_is_plain_where_no_terminal_is(run: Run) -> None:
    ran = run("status")
    assert "\x1b" not in ran.out
    assert len(ran.out.splitlines()) <= 28
    assert "rejected  not_a_log 1, truncated 1" in ran.out


def test_freshness_is_read_from_a_running_ingest(run: Run) -> None:
    metrics = IngestMetrics()
    for seconds in [0.4] * 98 + [2.5, 40.0]:
        metrics.fresh("events", "web-17", 1000.0, 1000.0 + seconds)
    metrics.fresh("events", "web-17", 1001.0, 1001.4)
    server = serve(metrics, "127.0.0.1:0", lambda: {"ok": True})
    try:
        address = f"127.0.0.1:{server.server_address[1]}"
        fresh = run("status", "--metrics", address, "--json").document["params"]["freshness"]
        assert fresh == {"heartbeats": 101, "last_s": 0.4, "p50_at_most_s": 0.5, "p99_at_most_s": 3.0}
        out = run("status", "--metrics", address).out
        assert "last 0.40 s, p50 ≤ 0.5 s, p99 ≤ 3 s, of 101 heartbeats" in out
    finally:
        server.shutdown()
        server.server_close()


def test_no_heartbeat_is_no_figure() -> None:
    metrics = IngestMetrics()
    found = read(generate_latest(metrics.registry).decode())
    assert found == {"heartbeats": 0, "last_s": None, "p50_at_most_s": None, "p99_at_most_s": None}
    with pytest.raises(ValueError, match="no freshness"):
        read("up 1\n")


def test_the_terminal_has_colours(store_url: str) -> None:
    with stores.open(store_url) as store:
        found = ask_status(store, "", datetime.now(UTC))
    found.params.update(lag={"quic.events.v1": 3}, freshness=None)
    console = Console(force_terminal=True, width=120)
    with console.capture() as captured:
        for part in status_view(found):
            console.print(part)
    assert "\x1b[" in captured.get()
    assert "3 messages (quic.events.v1 3)" in captured.get()
