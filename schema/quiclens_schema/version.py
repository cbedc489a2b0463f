"""Which quiclens this is."""

from importlib.metadata import version

VERSION = version("quiclens-schema")
"""Of all parts: they are released together, with one version."""
