"""What `make kubernetes` looks for is found where it stands. The chart needs helm: that command judges it."""

from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from quiclens_lab.kubernetes.command import CHART, EXAMPLES, ROOT, VERSIONS, insecure, not_taken, read, rendered
from quiclens_lab.kubernetes.pod_security import pod_of, unbounded, violations

Row = dict[str, Any]

POD: Row = {
    "securityContext": {"runAsNonRoot": True, "runAsUser": 10001, "seccompProfile": {"type": "RuntimeDefault"}},
    "volumes": [
        {"name": "config", "configMap": {"name": "quiclens-ingest"}},
        {"name": "tmp", "emptyDir": {}},
        {"name": "store", "secret": {"secretName": "quiclens-store-ingest"}},
    ],
    "containers": [
        {
            "name": "ingest",
            "args": ["ingest", "--config=/etc/quiclens/ingest.toml"],
            "env": [{"name": "QUICLENS_STORE_PASSWORD_FILE", "value": "/run/secrets/store/password"}],
            "securityContext": {
                "allowPrivilegeEscalation": False,
                "readOnlyRootFilesystem": True,
                "capabilities": {"drop": ["ALL"]},
            },
            "resources": {"limits": {"memory": "1Gi"}},
            "volumeMounts": [
                {"name": "config", "mountPath": "/etc/quiclens"},
                {"name": "tmp", "mountPath": "/tmp"},
                {"name": "store", "mountPath": "/run/secrets/store"},
            ],
        }
    ],
}


def job(pod: Row, command: list[str]) -> Row:
    container = {**pod["containers"][0], "args": command}
    return {
        "kind": "CronJob",
        "metadata": {"name": "quiclens-retention"},
        "spec": {"jobTemplate": {"spec": {"template": {"spec": {**pod, "containers": [container]}}}}},
    }


def config(text: str) -> Row:
    return {"kind": "ConfigMap", "metadata": {"name": "quiclens-ingest"}, "data": {"ingest.toml": text}}


def deployment(pod: Row) -> Row:
    return {"kind": "Deployment", "metadata": {"name": "quiclens-ingest"}, "spec": {"template": {"spec": pod}}}


def test_a_pod_as_it_should_be_breaks_nothing() -> None:
    assert list(violations(POD)) == [] and unbounded(POD) == [] and pod_of(config("")) is None


BROKEN: list[tuple[Callable[[Row], object], str]] = [
    (lambda pod: pod.update(hostNetwork=True), "hostNetwork"),
    (lambda pod: pod.update(hostPID=True), "hostPID"),
    (lambda pod: pod["volumes"].append({"name": "logs", "hostPath": {"path": "/"}}), "volume logs is a hostPath"),
    (lambda pod: pod["securityContext"].update(sysctls=[{"name": "kernel.msgmax"}]), "sysctl kernel.msgmax"),
    (lambda pod: pod["securityContext"].pop("runAsNonRoot"), "runAsNonRoot"),
    (lambda pod: pod["securityContext"].update(runAsUser=0), "runs as root"),
    (lambda pod: pod["securityContext"].pop("seccompProfile"), "seccompProfile"),
    (lambda pod: pod["securityContext"].update(seccompProfile={"type": "Unconfined"}), "seccompProfile"),
    (lambda pod: pod["securityContext"].update(appArmorProfile={"type": "Unconfined"}), "AppArmor"),
]
OWN: list[tuple[dict[str, Any], str]] = [
    ({"privileged": True}, "privileged"),
    ({"allowPrivilegeEscalation": None}, "allowPrivilegeEscalation"),
    ({"capabilities": {"drop": ["NET_RAW"]}}, "capabilities"),
    ({"capabilities": {"drop": ["ALL"], "add": ["SYS_ADMIN"]}}, "adds capabilities SYS_ADMIN"),
    ({"runAsNonRoot": False}, "runAsNonRoot"),
    ({"runAsUser": 0}, "runs as root"),
    ({"procMount": "Unmasked"}, "procMount"),
]


@pytest.mark.parametrize(("broken", "says"), BROKEN, ids=[says for _, says in BROKEN])
def test_what_restricted_forbids_of_a_pod_is_named(broken: Callable[[Row], object], says: str) -> None:
    pod = deepcopy(POD)
    broken(pod)
    assert any(says in each for each in violations(pod)), list(violations(pod))


@pytest.mark.parametrize(("own", "says"), OWN, ids=[says for _, says in OWN])
def test_what_restricted_forbids_of_a_container_is_named(own: Row, says: str) -> None:
    for kind in ("containers", "initContainers"):
        pod = deepcopy(POD)
        container = deepcopy(POD["containers"][0])
        container["securityContext"].update(own)
        pod[kind] = [container]
        assert any(says in each for each in violations(pod)), list(violations(pod))


def test_a_folder_of_the_node_is_for_a_collector_alone() -> None:
    pod = deepcopy(POD)
    pod["volumes"].append({"name": "logs", "hostPath": {"path": "/var/log/quic"}})
    found = deployment(pod)
    assert list(insecure([found])) == ["Deployment quiclens-ingest: volume logs is a hostPath"]
    assert list(insecure([{**found, "kind": "DaemonSet"}])) == []
    pod["containers"][0]["resources"] = {}
    assert any("no limit of memory" in each for each in insecure([deployment(pod)]))


def test_what_a_program_does_not_take_is_said() -> None:
    brokers = 'brokers = "kafka:9093"\n'
    assert list(not_taken([config(brokers), deployment(POD)])) == []
    assert any("nonsense" in each for each in not_taken([config(f"{brokers}nonsense = 1\n"), deployment(POD)]))
    of_job = job(POD, ["retention", "--keep-events=7d", "--keep-for-ever"])
    assert list(not_taken([config(brokers), of_job])) == [
        "CronJob quiclens-retention: quiclens retention has no option --keep-for-ever"
    ]
    unmounted = deepcopy(POD)
    unmounted["volumes"].append({"name": "kafka", "secret": {"secretName": "x"}})
    assert any("mounts" in each for each in not_taken([config(brokers), deployment(unmounted)]))
    trusting = deepcopy(POD)
    trusting["containers"][0]["env"].append({"name": "SSL_CERT_FILE", "value": "/run/secrets/store-ca/ca.crt"})
    assert list(not_taken([config(brokers), deployment(trusting)])) == [
        "Deployment quiclens-ingest: /run/secrets/store-ca/ca.crt is not mounted"
    ]


@pytest.fixture(scope="module")
def helm() -> Path:
    found = ROOT / ".made" / "kubernetes-tools" / "helm"
    if not found.exists():
        pytest.skip("no helm: make kubernetes")
    return found


OF_THE_STORE = {"quiclens-ingest", "quiclens-migrate", "quiclens-retention", "quiclens-web"}


@pytest.mark.parametrize(("example", "secret"), [("strimzi", "clickhouse-ca"), ("ready-cluster", None)])
def test_every_program_of_the_store_trusts_its_authority(helm: Path, example: str, secret: str | None) -> None:
    manifests = read(rendered(helm, EXAMPLES / f"{example}.yaml", VERSIONS[0]))
    pods = {each["metadata"]["name"]: pod for each in manifests if (pod := pod_of(each))}
    trusted, wanted = {}, {}
    for name, pod in pods.items():
        (container,) = pod["containers"]
        variables = {each["name"]: each.get("value") for each in container.get("env", ())}
        places = {each["name"]: each["mountPath"] for each in container["volumeMounts"]}
        secrets = {places[each["name"]]: each["secret"]["secretName"] for each in pod["volumes"] if "secret" in each}
        assert ("QUICLENS_STORE" in variables) == (name in OF_THE_STORE), name
        file = variables.get("SSL_CERT_FILE")
        trusted[name] = file and (secrets[str(Path(file).parent)], Path(file).name)
        wanted[name] = (secret, "ca.crt") if secret and name in OF_THE_STORE else None
    assert trusted == wanted and len(wanted) == 5


def test_every_template_and_example_is_where_the_command_looks() -> None:
    assert {path.stem for path in EXAMPLES.glob("*.yaml")} == {"collectors", "ready-cluster", "strimzi"}
    assert (CHART / "Chart.yaml").exists() and len(list((CHART / "templates").glob("*.yaml"))) == 7
