"""Servers that must be there, as somebody names them: `web-1,web-2`, or `@FILE` with a name a line."""

from pathlib import Path

from quiclens_questions.failure import usage
from quiclens_web.front.files_beside import directly


def expected(text: str) -> tuple[str, ...]:
    """The names, each once, in their order; UsageMistake for a file that cannot be read."""
    names = _lines(Path(text[1:])) if text.startswith("@") else text.split(",")
    stripped = (name.strip() for name in names)
    return tuple(dict.fromkeys(name for name in stripped if name and not name.startswith("#")))


def _lines(path: Path) -> list[str]:
    try:
        return directly(path).decode().splitlines()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise usage(f"{path} cannot be read: {reason}", "--expect @FILE, a server's name a line") from error
