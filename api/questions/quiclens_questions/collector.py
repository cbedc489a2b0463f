"""The collector's binary: finding it, and running it with one line for people when it fails."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO

from quiclens_questions.failure import CannotRun

NAME = "quiclens-collector"
VARIABLE = "QUICLENS_COLLECTOR"
VANTAGES = ("server", "client", "network", "unknown")
"""Whose log a trace may be; the server's first: it is the one that can show why."""


def find() -> Path:
    """From the environment, else beside this Python, where its wheel puts it, else on the PATH, else where
    `cargo build --release` of this tree puts it."""
    if named := os.environ.get(VARIABLE):
        if os.access(named, os.X_OK) and Path(named).is_file():
            return Path(named)
        raise CannotRun("no_collector", f"{VARIABLE} names {named}, which is no program", "cargo build --release")
    if found := shutil.which(NAME, path=str(Path(sys.executable).parent)) or shutil.which(NAME):
        return Path(found)
    for folder in Path(__file__).resolve().parents:
        if (folder / "Cargo.toml").is_file() and os.access(folder / "target" / "release" / NAME, os.X_OK):
            return folder / "target" / "release" / NAME
    raise CannotRun("no_collector", f"the program {NAME} is not there", "cargo build --release")


def each_line(arguments: Sequence[str]) -> Iterator[str]:
    """Run, and return one line after another as they come."""
    with TemporaryFile() as errors:
        with _started():
            words: list[str | Path] = [find(), *arguments]
            process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors)
        assert process.stdout is not None
        try:
            for line in process.stdout:
                yield line.decode("utf-8", "replace")
        except BaseException:  # nobody wants the rest
            process.kill()
            raise
        finally:
            process.stdout.close()
            code = process.wait()
        errors.seek(0)
        if code != 0:
            raise _failed(code, errors.read())


def feed(arguments: Sequence[str], pieces: Iterable[bytes], target: IO[bytes]) -> None:
    """Run with `pieces` on its standard input and `target` as its standard output."""
    with TemporaryFile() as errors:
        with _started():
            process = subprocess.Popen([find(), *arguments], stdin=subprocess.PIPE, stdout=target, stderr=errors)
        assert process.stdin is not None
        try:
            with suppress(BrokenPipeError):  # it stopped reading: its exit code and its words say why
                for piece in pieces:
                    process.stdin.write(piece)
        except BaseException:
            process.kill()
            raise
        finally:
            with suppress(BrokenPipeError):
                process.stdin.close()
            process.wait()
        code = process.returncode
        errors.seek(0)
        if code != 0:
            raise _failed(code, errors.read())


@contextmanager
def _started() -> Iterator[None]:
    """A program that cannot be run is told as such: it was replaced, say, while a confined process ran."""
    try:
        yield
    except OSError as error:
        hint = "start quiclens serve again where the program was replaced while it ran"
        raise CannotRun("no_collector", f"cannot run the collector: {error.strerror}", hint) from error


def _failed(code: int, errors: bytes) -> CannotRun:
    said = errors.decode("utf-8", "replace").strip().splitlines()
    words = said[-1] if said else "it said nothing"
    return CannotRun("collector_failed", f"{NAME} ended with code {code}: {words}", "run it by hand to see more")
