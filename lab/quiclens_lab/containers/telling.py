"""Who tells a secret: in what programs say, and in the layers of images; and the proof that the search finds one."""

import mmap
import tempfile
from collections.abc import Mapping
from pathlib import Path

from quiclens_lab.containers.images import HERE, IGNORED, OURS, image
from quiclens_lab.podman import Podman

_CARELESS = "FROM scratch\nCOPY . /careless\n"
"""What somebody writes who wants to have it all in the image."""
_CANARY = f"{HERE}/quiclens-canary:careless"


def among(texts: Mapping[str, str], secrets: Mapping[str, bytes]) -> list[tuple[str, str]]:
    """Which text has which secret; of a key each line counts."""
    return [
        (where, name)
        for where, text in texts.items()
        for name, value in secrets.items()
        if any(line in text for line in _lines(value))
    ]


def in_images(podman: Podman, secrets: Mapping[str, bytes]) -> list[tuple[str, str]]:
    """Which of our images has which secret, in its layers or in what is said of it."""
    return [(f"the image {name}", secret) for name in OURS.values() for secret in _in(podman, image(name), secrets)]


def proof(podman: Podman, tree: Path, secrets: Mapping[str, bytes], scratch: Path) -> list[str]:
    """What is wrong with the search, or with what keeps secrets out of a build: empty when both are right.

    A throw-away image takes all of the context. Without the ignore file every secret of the tree must be found in it;
    with it, none.
    """
    file = scratch / "Careless.Containerfile"
    file.write_text(_CARELESS)
    wrong = []
    try:
        podman.build(_CANARY, file, tree)
        unseen = sorted(set(secrets) - set(_in(podman, _CANARY, secrets)))
        wrong += [f"the search finds no {name} in an image that has it" for name in unseen]
        podman.build(_CANARY, file, tree, ignore=tree / IGNORED)
        taken = _in(podman, _CANARY, secrets)
        wrong += [f"{IGNORED} lets a careless build take {name}" for name in taken]
    finally:
        podman.do(["podman", "image", "rm", "--force", "--ignore", _CANARY])
    return wrong


def _in(podman: Podman, name: str, secrets: Mapping[str, bytes]) -> list[str]:
    """The secrets in an image. podman writes its layers as they are, not compressed."""
    with tempfile.TemporaryDirectory(prefix="quiclens-image-") as folder:
        archive = Path(folder) / "image.tar"
        podman.do(["podman", "image", "save", "--quiet", f"--output={archive}", name])
        return in_file(archive, secrets)


def in_file(file: Path, secrets: Mapping[str, bytes]) -> list[str]:
    """The secrets whose bytes stand in a file; a key is known by a line of its middle."""
    with file.open("rb") as opened, mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ) as content:
        return [name for name, value in secrets.items() if content.find(_mark(value)) >= 0]


def _lines(value: bytes) -> list[str]:
    return [line for line in value.decode().splitlines() if not line.startswith("-----")]


def _mark(value: bytes) -> bytes:
    lines = _lines(value)
    return lines[len(lines) // 2].encode()
