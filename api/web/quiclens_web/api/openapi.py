"""`python -m quiclens_web.api.openapi`: the OpenAPI document on standard output, as `/api/openapi.json` answers it."""

import json
import sys
from tempfile import TemporaryDirectory

from quiclens_schema.store import open as open_store

from quiclens_web.api.app import create_app
from quiclens_web.api.settings import ApiSettings

if __name__ == "__main__":
    with TemporaryDirectory() as folder, open_store(f"chdb:{folder}") as store:  # which nothing is asked of
        json.dump(create_app(ApiSettings(store)).openapi(), sys.stdout, indent=1)
