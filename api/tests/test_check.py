"""What a log can show, with a collector of our own making."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from api_ran import Run

from quiclens_questions.check import CHANGES

ROOT = Path(__file__).resolve().parents[2]
Make = Callable[[str], Path]


def trace(number: int, *causes: dict[str, Any], vantage: str = "server") -> str:
    about = {"trace_id": f"{number:016x}", "stack": "mvfst", "vantage": vantage, "requests": 3, "dialect": "mvfst"}
    return json.dumps({**about, "file": f"{number}.qlog", "causes": causes})


def cause(name: str, known: str, because: str, *switch_on: str) -> dict[str, Any]:
    return {"cause": name, "known": known, "because": because, "switch_on": list(switch_on)}


LOST = cause("loss_recovery", "cannot", "no frames", "frames")
PROBED = cause("pto", "cannot", "no frames", "frames")
SEEN = cause("loss_recovery", "observed", "logged one by one")


def test_check_tells_what_to_switch_on(run: Run, fake_collector: Make, tmp_path: Path) -> None:
    fake_collector(f"print('''{trace(1, LOST)}''')")
    document = run("check", str(tmp_path), "--json").document
    row = ["0" * 15 + "1", "mvfst", "server", "loss_recovery", "cannot", "no frames", ["frames"], "mvfst", "1.qlog"]
    assert document["rows"] == [row]
    assert document["coverage"]["requests"] == 3 and document["samples"] == 1
    assert "switch on to see more: frames" in run("check", str(tmp_path)).out


def test_files_of_one_stack_and_side_are_one_table(run: Run, fake_collector: Make, tmp_path: Path) -> None:
    lines = [trace(1, LOST, PROBED), trace(2, LOST, PROBED), trace(3, SEEN, PROBED), trace(4, PROBED, vantage="client")]
    fake_collector("\n".join(f"print('''{line}''')" for line in lines))
    out = run("check", str(tmp_path)).out
    assert out.count("mvfst, server side: 3 traces in 3 files") == 1 and out.count("mvfst, client side: 1 trace") == 1
    told = [" ".join(line.split()) for line in out.splitlines()]
    assert "loss recovery no 2 no frames frames" in told and "yes 1 logged one by one" in told
    assert out.index("server side") < out.index("client side")


def test_causes_of_which_the_same_is_said_stand_together(run: Run, fake_collector: Make, tmp_path: Path) -> None:
    fake_collector(f"print('''{trace(1, PROBED, LOST)}''')")
    assert "probe timeout, loss recovery" in run("check", str(tmp_path)).out


def test_what_is_missing_in_logs_is_told_with_what_to_change(run: Run, fake_collector: Make, tmp_path: Path) -> None:
    some = [(1, {"packets_sent_missing": 5}, {"whole": 2, "damaged": 1}), (2, {}, {"whole": 3})]
    some += [(3, {"packets_sent_missing": 2, "time_went_back": 1}, {"repaired": 3})]
    lines = [
        json.dumps(json.loads(trace(number, SEEN)) | {"damage": damage, "grades": grades})
        for number, damage, grades in some
    ]
    fake_collector("\n".join(f"print('''{line}''')" for line in lines))
    params = run("check", str(tmp_path), "--json").document["params"]
    assert params["grades"] == {"whole": 5, "damaged": 1, "repaired": 3}
    assert [(each["kind"], each["times"], each["traces"]) for each in params["damage"]] == [
        ("packets_sent_missing", 7, 2),
        ("time_went_back", 1, 1),
    ]
    told = " ".join(run("check", str(tmp_path)).out.split())
    assert "packets sent missing 7 2 the writer drops records" in told and "time went back 1 1 several threads" in told
    assert "answers about their requests: 5 whole, 3 repaired, 1 damaged" in told

    fake_collector(f"print('''{trace(1, SEEN)}''')")
    assert run("check", str(tmp_path), "--json").document["params"]["damage"] == []
    assert "answers about their requests" not in run("check", str(tmp_path)).out


def test_every_kind_of_damage_has_a_change() -> None:
    text = (ROOT / "schema" / "README.md").read_text().partition("### Damage")[2].partition("\n###")[0]
    kinds = {line.split("`")[1] for line in text.splitlines() if line.startswith("| `")}
    assert len(kinds) >= 6 and set(CHANGES) == kinds


def test_what_could_not_be_read_is_named(run: Run, fake_collector: Make, tmp_path: Path) -> None:
    fake_collector(f"print('''{trace(1, LOST)}''')\nprint('{json.dumps({'file': 'a.txt', 'rejected': 'not_a_log'})}')")
    ran = run("check", str(tmp_path))
    assert ran.code == 1 and "rejected, not_a_log: a.txt" in ran.out


def test_what_nobody_reads_is_named(run: Run, fake_collector: Make, tmp_path: Path) -> None:
    unread = {
        "events": {"acme:thing": 12},
        "fields": {"quic:packet_sent": {f"header.f{number:02}": number for number in range(1, 25)}},
        "values": {"quic:packet_sent": {"frames.stream_id": 1}},
        "others": 2,
    }
    line = json.dumps({**json.loads(trace(1, LOST)), "unread": unread})
    fake_collector(f"print('''{line}''')\nprint('''{line}''')")
    told = run("check", str(tmp_path), "--json").document["params"]["unread"]
    assert told["events"] == {"acme:thing": 24} and told["values"] == {"quic:packet_sent frames.stream_id": 2}
    assert told["fields"]["quic:packet_sent header.f24"] == 48 and told["others"] == 4
    out = " ".join(run("check", str(tmp_path)).out.split())
    assert "events that are kept and not read: acme:thing (24)" in out
    assert "quic:packet_sent header.f24 (48), " in out and "and 4 more, see --json" in out
    assert "values that their field cannot have, kept and not read: quic:packet_sent frames.stream_id (2)" in out
