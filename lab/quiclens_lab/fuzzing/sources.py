"""What a target is built of: a change of anything else leaves its totals as they are."""

import ast
import re
from pathlib import Path

from quiclens_lab.fuzzing.targets import FuzzTarget
from quiclens_lab.machine import LAB, hash_of

ROOT = LAB.parent
FUZZ = ROOT / "collectors" / "fuzz"

_CRATE = re.compile(r"\bquiclens_(core|edge|tail)\b")
_USED = re.compile(r"\b(?:quiclens_fuzz|crate)::(?:(\w+)|\{([^}]*)\})")
# A module of the collector in `collectors/fuzz/src/lib.rs`.
_TAKEN_IN = re.compile(r"agent/src/\w+(?:\.rs|/mod\.rs|)\"\]\s*pub mod (\w+)")
_CRATES = {"core": ("core",), "tail": ("core", "tail"), "edge": ("core", "edge")}


def code_of(target: FuzzTarget, binaries: Path) -> str:
    """A short hash of the sources that a target is built of; `binaries` has it, with what cargo says of its sources."""
    return hash_of(ROOT, python_files(target.name) if target.is_python else rust_files(target.name, binaries))


def rust_files(name: str, binaries: Path) -> list[Path]:
    """Sources of a binary of `collectors/fuzz`, in order of their paths: of those which cargo names, all but crates and
    modules that neither the target nor what it shares with others mentions."""
    text = (FUZZ / "targets" / f"{name}.rs").read_text()
    for shared in sorted(_used(text)):
        path = FUZZ / "src" / f"{shared}.rs"
        text += path.read_text() if path.exists() else ""
    taken_in = set(_TAKEN_IN.findall((FUZZ / "src" / "lib.rs").read_text()))
    crates = {crate for named in _CRATE.findall(text) for crate in _CRATES[named]}
    left_out = {ROOT / "collectors" / crate for crate in ("core", "edge", "tail") if crate not in crates}
    left_out.add(ROOT / "collectors" / "agent")
    if _used(text) & taken_in:
        left_out = set()  # the collector's modules use each other, and every crate
    told = (binaries / f"{name}.d").read_text().partition(": ")[2].replace("\\ ", "\0").split()
    paths = {Path(path.replace("\0", " ")).resolve() for path in told}
    ours = {path for path in paths if path.is_file() and path.is_relative_to(ROOT) and "target" not in path.parts}
    kept = {path for path in ours if not any(path.is_relative_to(folder) for folder in left_out)}
    return sorted(kept | {FUZZ / "Cargo.lock", FUZZ / "Cargo.toml", FUZZ / "instrumented"})


def _used(text: str) -> set[str]:
    return {word.strip().partition("::")[0] for one, many in _USED.findall(text) for word in (one, *many.split(","))}


def python_files(name: str) -> list[Path]:
    """A surface's own modules and what they import of this project, in order of their paths."""
    surfaces = Path(__file__).with_name("surfaces.py")
    tree = ast.parse(surfaces.read_text())
    (function,) = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == name]
    seen, left = {surfaces}, list(_imported(function))
    while left:
        path = left.pop()
        if path not in seen:
            seen.add(path)
            left += _imported(ast.parse(path.read_text()))
    # Lists and grants that modules read beside their code.
    folders = {path.parent for path in seen if path != surfaces}
    beside = {path for folder in folders for path in folder.rglob("*.txt")}
    return sorted(seen | beside)


def _imported(tree: ast.AST) -> set[Path]:
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {each.name for each in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module, *(f"{node.module}.{each.name}" for each in node.names)}
    return {path for name in names if name.startswith("quiclens_") for path in _modules(name)}


def _modules(name: str) -> list[Path]:
    """The file of a module, and of each package that it lies in."""
    package, *parts = name.split(".")
    home = package.removeprefix("quiclens_")
    folder = next((each for each in (ROOT / home, ROOT / "api" / home) if (each / package).is_dir()), None)
    found: list[Path] = []
    if folder is None:
        return found
    for part in (package, *parts):
        folder = folder / part
        found += [path for path in (folder / "__init__.py", folder.with_suffix(".py")) if path.is_file()]
    return found
