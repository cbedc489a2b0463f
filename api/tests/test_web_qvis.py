"""What a qvis served beside us asks for."""

import json

import pytest
from api_seed import A as CONNECTION
from web_client import client


def test_several_connections_are_one_file_with_a_trace_of_each(store_url: str) -> None:
    with client(store_url) as web:
        text = web.get(f"/connections/{CONNECTION}.sqlog").text
        alone = [json.loads(record) for record in text.split("\x1e") if record.strip()]
        file = f"http://elsewhere.example/connections/{CONNECTION}.sqlog"
        answer = web.get("/loadfiles", params={"file1": file, "file2": f"/connections/{CONNECTION}.qlog", "desc1": "x"})
    assert answer.status_code == 200
    root = answer.json()["qlog"]
    assert root["qlog_version"] == alone[0]["qlog_version"] and root["qlog_format"] == "JSON"
    assert len(root["traces"]) == 2 and root["traces"][0] == root["traces"][1]
    assert root["traces"][0] == {**alone[0]["trace"], "events": alone[1:]} and len(alone) > 1


@pytest.mark.parametrize(
    ("query", "status", "code"),
    [
        ("", 422, "usage"),
        ("file=http://169.254.169.254/latest/meta-data", 422, "usage"),
        ("file=file:///etc/passwd", 422, "usage"),
        ("file1=/connections/nothing.sqlog", 404, "not_found"),
        ("&".join(f"file{number}=/connections/{CONNECTION}.sqlog" for number in range(11)), 422, "usage"),
    ],
)
def test_what_is_not_ours_is_not_fetched(store_url: str, query: str, status: int, code: str) -> None:
    with client(store_url) as web:
        answer = web.get(f"/loadfiles?{query}")
    assert (answer.status_code, answer.json()["code"]) == (status, code)
