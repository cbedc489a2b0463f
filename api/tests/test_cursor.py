"""Pages of a list where requests have one id."""

import json
from pathlib import Path

from api_seed import request
from serve_process import start
from store_rows import fill


def test_lines_that_mean_one_stream_are_each_in_one_page(tmp_path: Path) -> None:
    """Two tiers log the same connection and stream: their requests have one id, and may have one duration or none."""
    rows = [
        request(request_id, None, duration_us, log_id=log_id, offset=offset)
        for request_id, duration_us in (("c/4", 5_000), ("c/8", None))
        for log_id, offset in (("one", 0), ("one", 90), ("two", 0))
    ]
    fill(tmp_path / "store", {"requests": [*rows, request("d/0", None, 5_000, log_id="one", offset=180)]})
    served, found, after = start(tmp_path / "store"), 0, ""
    for _ in range(10):
        page = json.loads(served.request(b"", "GET", f"/api/v1/requests?limit=1&after={after}", {}).body)
        found += len(page["requests"])
        after = page["next"]
        if after is None:
            break
    assert served.stop() == 0
    assert found == 7
