"""Folders in shared places that belong to this user alone."""

import os
import stat
from pathlib import Path

from quiclens_questions.failure import CannotRun


def own_folder(path: Path, code: str, variable: str) -> Path:
    """The folder, made where it is not; CannotRun, with this code, where it is another user's or others may write
    there. `variable` names another place."""
    try:
        path.mkdir(mode=0o700, exist_ok=True)
        said = path.lstat()
    except OSError as error:
        raise CannotRun(code, f"cannot make the folder {path}: {error.strerror}") from error
    if not stat.S_ISDIR(said.st_mode) or said.st_uid != os.getuid() or said.st_mode & 0o022:
        raise CannotRun(code, f"{path} may be written to by others", f"remove it, or set {variable} to your own folder")
    return path
