"""A secret that the environment gives, itself or as a file's name."""

import os
from collections.abc import Mapping

from quiclens_schema import secret

from quiclens_questions.failure import usage


def given_secret(name: str, environment: Mapping[str, str] = os.environ) -> str:
    """The secret of this name, "" when nobody gave one; UsageMistake for one that cannot be had."""
    try:
        return secret.secret(name, environment)
    except secret.SecretError as error:
        raise usage(str(error)) from error
