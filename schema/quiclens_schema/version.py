"""Which quiclens this is."""

from importlib.metadata import version

VERSION = version("quiclens-schema")
"""Of all parts: they are released together, with one version."""

CLICKHOUSE_LEAST = (26, 1)
"""The oldest ClickHouse that the statements have been tried with: year and number of the release."""
