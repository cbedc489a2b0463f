"""Options of the commands that speak with Kafka, each written once."""

from pathlib import Path
from typing import Annotated, Any

import typer
from quiclens_ingest.settings import IngestSettings, SettingsError
from quiclens_ingest.settings import read as read_settings

from quiclens_questions.failure import usage

Config = Annotated[
    Path | None, typer.Option("--config", metavar="FILE", help="Settings of `quiclens ingest`, as TOML.")
]
Brokers = Annotated[str, typer.Option("--brokers", metavar="HOST:PORT,…", help="Where Kafka answers.")]
Group = Annotated[str, typer.Option("--group", metavar="NAME", help="The consumer group of `quiclens ingest`.")]


def settings_of(config: Path | None, **given: Any) -> IngestSettings:
    """The file's settings, those given on the command line in front; UsageMistake for what cannot be."""
    try:
        return read_settings(config, {name: value for name, value in given.items() if value not in ("", None)})
    except SettingsError as error:
        raise usage(str(error)) from error
