"""The images: what stands in for those of registries, and ours, built by deploy/Dockerfile from a copy of the tree."""

import shutil
from collections.abc import Mapping
from pathlib import Path

from quiclens_ingest.broker import fetch_jars
from quiclens_schema.version import VERSION

from quiclens_lab.machine import LAB
from quiclens_lab.outside import said_by
from quiclens_lab.podman import CERTIFICATES, Podman
from quiclens_lab.progress import say

ROOT = LAB.parent
STANDINS = Path(__file__).parent / "standins"
OURS = {"collector": "quiclens-collector", "web": "quiclens-web", "quiclens": "quiclens"}
"""Names of our images, by their stage of the Dockerfile."""
IGNORED = "deploy/Dockerfile.dockerignore"
HERE = "localhost"
"""Where images of this machine are; a short name means one of these before any registry's."""
_REGISTRY = "docker.io/library"


def stand_ins(podman: Podman, base: Path, caddy: Path, scratch: Path) -> None:
    """Images under the names that deploy/ asks for: Debian, Rust, Kafka, and Caddy, whose program is given."""
    podman.debian(base / "minimal-debian.tar", "ca-certificates", "localhost/quiclens-minimal:bookworm")
    context = scratch / "debian"
    context.mkdir()
    for certificate in CERTIFICATES.glob("*.crt"):
        shutil.copy(certificate, context)
    if not any(context.iterdir()):
        (context / "none.crt").touch()
    podman.build(f"{_REGISTRY}/debian:bookworm-slim", STANDINS / "debian.Containerfile", context)
    say("containers: Rust's image")
    rust = Path(said_by(["rustc", "--print", "sysroot"], folder=ROOT).strip())
    podman.build(
        f"{_REGISTRY}/rust:1.95-bookworm", STANDINS / "rust.Containerfile", rust, ignore=STANDINS / "rust.ignore"
    )
    say("containers: Kafka's image")
    context = scratch / "kafka"
    shutil.copytree(fetch_jars(), context / "jars")
    shutil.copytree(STANDINS / "kafka", context / "bin")
    podman.build("docker.io/apache/kafka:4.1.0", STANDINS / "kafka.Containerfile", context)
    context = scratch / "caddy"
    context.mkdir()
    shutil.copy(caddy, context / "caddy")
    podman.build(f"{_REGISTRY}/caddy:2.11", STANDINS / "caddy.Containerfile", context)


def ours(podman: Podman, tree: Path) -> Mapping[str, int]:
    """Our images, built from a tree; their sizes, bytes, by name."""
    sizes = {}
    for stage, name in OURS.items():
        say(f"containers: the image {name}; the first compiles the collector, some minutes")
        podman.build(image(name), tree / "deploy" / "Dockerfile", tree, ignore=tree / IGNORED, target=stage)
        sizes[name] = int(podman.do(["podman", "image", "inspect", "--format={{.Size}}", image(name)]))
    return sizes


def image(name: str) -> str:
    return f"{HERE}/{name}:{VERSION}"
