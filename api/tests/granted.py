"""Run commands of `quiclens` one after the other as a user of the embedded engine who has the rights given, no more.

python granted.py '["SELECT ON default.*"]' '[["status", "--store", "chdb:DIR"]]'
"""

import json
import sys

from quiclens_schema import engine

from quiclens_command_line.main import main

# What the engine asks for beside the rights on a database, whoever opens it.
OPENING = ("SHOW DATABASES ON *.*", "SELECT ON system.parts")


def run(grants: list[str], commands: list[list[str]]) -> int:
    """The exit code of the first command that could not run, else 0."""
    engine.GRANTS = (*OPENING, *grants)
    codes = (main([*words, "--json"]) for words in commands)
    return next((code for code in codes if code > 1), 0)


if __name__ == "__main__":
    sys.exit(run(*map(json.loads, sys.argv[1:])))
