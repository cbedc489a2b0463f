"""Render the chart for several versions of Kubernetes, validate it strictly, and give the programs what it says."""

import re
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from quiclens_lab.errors import CannotTryError
from quiclens_lab.judgement import Judgement
from quiclens_lab.kubernetes.pod_security import pod_of, unbounded, violations

ROOT = Path(__file__).resolve().parents[3]
_POD = "quiclens-ingest-0"  # what a variable is told of its pod: its name
CHART = ROOT / "deploy" / "helm" / "quiclens"
EXAMPLES = ROOT / "deploy" / "helm" / "examples"
VERSIONS = ("1.33.0", "1.34.0", "1.35.0", "1.36.0", "1.37.0")
_NO_SCHEMA = "monitoring.coreos.com/"  # the Prometheus operator's own
_ON_THE_NODE = re.compile(r"volume (logs|state|geoip) is a hostPath")
"""What a collector on a node must have, and only it may."""

Row = dict[str, Any]
Manifest = Mapping[str, Any]


def kubernetes(tools: Path, keep: bool) -> Row:
    """`tools` is the folder of .made with helm and kubernetes-validate."""
    helm, validate = tools / "helm", tools / "bin" / "kubernetes-validate"
    if not helm.exists() or not validate.exists():
        raise CannotTryError(f"{tools} has no helm or no kubernetes-validate: make kubernetes")
    judgement = Judgement("kubernetes")
    made = judgement.found["objects"] = {}
    for example in sorted(EXAMPLES.glob("*.yaml")):
        with judgement.stage(example.stem):
            linted = _run([helm, "lint", CHART, "--strict", "--values", example])
            judgement.want(linted.returncode == 0, f"{example.stem}: helm lint: {linted.stdout.strip()[-500:]}")
            for version in VERSIONS:
                text = rendered(helm, example, version)
                manifests = read(text)
                made[example.stem] = len(manifests)
                for what in (*refused(validate, text, version), *insecure(manifests)):
                    judgement.miss(f"{example.stem}, Kubernetes {version}: {what}")
            for what in not_taken(manifests):
                judgement.miss(f"{example.stem}: {what}")
    judgement.found["versions"] = list(VERSIONS)
    return judgement.document(keep)


def rendered(helm: Path, example: Path, version: str) -> str:
    """The chart's objects, as `helm template` makes them."""
    words = [helm, "template", "quiclens", CHART, "--namespace", "quiclens", "--values", example, "--kube-version"]
    made = _run([*words, version])
    if made.returncode:
        raise CannotTryError(f"helm template: {made.stderr.strip()[-500:]}")
    return made.stdout


def read(text: str) -> list[Manifest]:
    """The documents of a YAML stream."""
    return [each for each in yaml.safe_load_all(text) if each]


def refused(validate: Path, text: str, version: str) -> Iterator[str]:
    """What the strict schemas of a version of Kubernetes, or a warning of theirs, say against it."""
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
        file.write(text)
        file.flush()
        found = _run([validate, "--strict", "--quiet", "--kubernetes-version", version, file.name])
    lines = [line for line in (found.stdout + found.stderr).splitlines() if line and _NO_SCHEMA not in line]
    yield from lines
    if found.returncode and not lines:
        yield f"kubernetes-validate ended with {found.returncode}"


def insecure(manifests: Sequence[Manifest]) -> Iterator[str]:
    """What Pod Security `restricted` forbids, but the folders of its node that a collector reads and keeps its state
    in; and containers without bounds."""
    for each in manifests:
        pod, name = pod_of(each), f"{each['kind']} {each['metadata']['name']}"
        if pod is None:
            continue
        for what in violations(pod):
            if not (each["kind"] == "DaemonSet" and _ON_THE_NODE.fullmatch(what)):
                yield f"{name}: {what}"
        for container in unbounded(pod):
            yield f"{name}: {container} has no limit of memory, or a root that can be written"


def not_taken(manifests: Sequence[Manifest]) -> Iterator[str]:
    """What the programs say against their settings and arguments, mounts that no volume is for, and secrets that they
    name and that are not mounted."""
    configs = {each["metadata"]["name"]: each["data"] for each in manifests if each["kind"] == "ConfigMap"}
    for each in manifests:
        if (pod := pod_of(each)) is None:
            continue
        (container,) = pod["containers"]
        name = f"{each['kind']} {each['metadata']['name']}"
        volumes = {volume["name"]: volume for volume in pod["volumes"]}
        mounts = {mount["name"]: mount["mountPath"] for mount in container["volumeMounts"]}
        if mounts.keys() != volumes.keys():
            yield f"{name}: volumes {sorted(volumes)}, mounts {sorted(mounts)}"
            continue
        with tempfile.TemporaryDirectory(prefix="quiclens-kubernetes-") as folder:
            root = Path(folder)
            for volume, path in mounts.items():
                place = root / path.removeprefix("/")
                place.mkdir(parents=True, exist_ok=True)
                config = volumes[volume].get("configMap")
                for file, text in configs[config["name"]].items() if config else ():
                    (place / file).write_text(_in(root, text), encoding="utf-8")
            own = [configs[volumes[volume]["configMap"]["name"]] for volume in mounts if "configMap" in volumes[volume]]
            for path in sorted(_secrets(container, own)):
                if str(Path(path).parent) not in mounts.values():
                    yield f"{name}: {path} is not mounted"
                (root / path.removeprefix("/")).parent.mkdir(parents=True, exist_ok=True)
                (root / path.removeprefix("/")).write_text("secret" * 8, encoding="utf-8")
            for said in _checked(container, root):
                yield f"{name}: {said}"


def _secrets(container: Manifest, configs: Sequence[Mapping[str, str]]) -> set[str]:
    """Paths below /run/secrets that its settings, arguments and variables name."""
    texts = [*container.get("args", ()), *(each.get("value", "") for each in container.get("env", ()))]
    texts += [text for config in configs for text in config.values()]
    return {path for text in texts for path in re.findall(r"/run/secrets/[\w./-]+", text)}


def _in(root: Path, text: str) -> str:
    """The same with the pod's folders below `root`."""
    return re.sub(r"(?<![\w/])/(?=run/secrets/|var/|etc/quiclens)", f"{root}/", text)


def _checked(container: Manifest, root: Path) -> Iterator[str]:
    """What the program of a container says against what it is given."""
    environment = {each["name"]: _in(root, each.get("value", _POD)) for each in container.get("env", ())}
    expanded = [re.sub(r"\$\((\w+)\)", lambda name: environment[name[1]], each) for each in container["args"]]
    command, *rest = [_in(root, each) for each in expanded]
    quiclens = ROOT / ".venv" / "bin" / "quiclens"
    if command == "run":
        words = [ROOT / "target" / "release" / "quiclens-collector", "check", "--quiet", *rest]
    elif command == "ingest":
        words = [quiclens, "ingest", "--check", *rest]
    else:  # no check of their own: whether each option is one that the command has
        known = _run([quiclens, command, "--help"]).stdout
        for option in (each.partition("=")[0] for each in rest):
            if not re.search(rf"(?<![\w-]){re.escape(option)}(?![\w-])", known):
                yield f"quiclens {command} has no option {option}"
        return
    done = _run(words, environment)
    if done.returncode:
        yield f"{command}: {(done.stdout + done.stderr).strip()[-400:]}"


def _run(words: Sequence[object], environment: Mapping[str, str] | None = None) -> "subprocess.CompletedProcess[str]":
    home = {"PATH": "/usr/bin:/bin", "HOME": "/nonexistent", **(environment or {})}
    return subprocess.run([str(word) for word in words], capture_output=True, text=True, env=home, check=False)
