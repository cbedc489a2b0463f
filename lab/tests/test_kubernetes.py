"""What `make kubernetes` looks for is found where it stands. The chart needs helm: that command judges it."""

from collections.abc import Callable
from copy import deepcopy
from typing import Any

import pytest

from quiclens_lab.kubernetes.command import CHART, EXAMPLES, insecure, not_taken
from quiclens_lab.kubernetes.pod_security import pod_of, unbounded, violations

Row = dict[str, Any]

POD: Row = {
    "securityContext": {"runAsNonRoot": True, "runAsUser": 10001, "seccompProfile": {"type": "RuntimeDefault"}},
    "volumes": [{"name": "config", "configMap": {"name": "quiclens-ingest"}}, {"name": "tmp", "emptyDir": {}}],
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


def test_every_template_and_example_is_where_the_command_looks() -> None:
    assert {path.stem for path in EXAMPLES.glob("*.yaml")} == {"collectors", "ready-cluster", "strimzi"}
    assert (CHART / "Chart.yaml").exists() and len(list((CHART / "templates").glob("*.yaml"))) == 7
