"""All that a served store tells: the rows of its tables, and the answers of pages and API."""

import json

from quiclens_schema import catalogue
from serve_process import Served


def rows(store: Served) -> dict[str, str]:
    """Every row of every table that collectors and linking fill, as JSON."""
    tables = [*catalogue.load().tables, "requests"]
    return {table: store.one(f"SELECT * FROM {table} FORMAT JSONEachRow") for table in tables}


def asked(store: Served) -> str:
    """What pages and API say of the connections and requests that are there."""
    told = []
    known = "SELECT DISTINCT connection_id FROM streams WHERE stream_id = 0 FORMAT JSONCompactColumns"
    ids = json.loads(store.one(known))[0]
    requests = [f"/{name}/{each}/0" for each in ids for name in ("requests", "api/requests")]
    paths = [*requests, *(f"/connections/{each}.qlog" for each in ids), *(f"/connections/{each}" for each in ids)]
    for path in ("/", "/requests", "/working", "/api/v1/requests", "/api/v1/status", *paths):
        got = store.request(b"", "GET", path, {"accept": "text/html"})
        assert got.status in (200, 404), (path, got.status, got.text[:300])
        told.append(got.text)
    return "\n".join(told)
