"""What Kubernetes' Pod Security Standard `restricted` forbids of a pod. Pure.

https://kubernetes.io/docs/concepts/security/pod-security-standards/, as of 1.37: the controls of `baseline` and of
`restricted` that a pod on Linux can break.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

_VOLUMES = {
    "configMap",
    "csi",
    "downwardAPI",
    "emptyDir",
    "ephemeral",
    "image",
    "persistentVolumeClaim",
    "projected",
    "secret",
}
_PROFILES = {"RuntimeDefault", "Localhost"}
_PROBES = ("startupProbe", "readinessProbe", "livenessProbe")
_SYSCTLS = {"kernel.shm_rmid_forced", "net.ipv4.ip_local_port_range", "net.ipv4.ip_unprivileged_port_start",
            "net.ipv4.tcp_syncookies", "net.ipv4.ping_group_range", "net.ipv4.ip_local_reserved_ports",
            "net.ipv4.tcp_keepalive_time", "net.ipv4.tcp_fin_timeout", "net.ipv4.tcp_keepalive_intvl",
            "net.ipv4.tcp_keepalive_probes"}  # fmt: skip

Spec = Mapping[str, Any]


def violations(pod: Spec) -> Iterator[str]:
    """Each thing that `restricted` forbids of a pod's spec, in words."""
    own = pod.get("securityContext", {})
    for name in ("hostNetwork", "hostPID", "hostIPC"):
        if pod.get(name):
            yield f"{name} is true"
    for volume in pod.get("volumes", ()):
        for kind in volume.keys() - {"name"} - _VOLUMES:
            yield f"volume {volume['name']} is a {kind}"
    for each in own.get("sysctls", ()):
        if each["name"] not in _SYSCTLS:
            yield f"sysctl {each['name']}"
    for container in (*pod.get("initContainers", ()), *pod.get("containers", ())):
        for what in _of_container(container, own):
            yield f"container {container['name']}: {what}"


def _of_container(container: Spec, pod: Spec) -> Iterator[str]:
    own = container.get("securityContext", {})
    if own.get("privileged"):
        yield "privileged"
    if own.get("allowPrivilegeEscalation") is not False:
        yield "allowPrivilegeEscalation is not false"
    capabilities = own.get("capabilities", {})
    if "ALL" not in capabilities.get("drop", ()):
        yield "does not drop ALL capabilities"
    if added := set(capabilities.get("add", ())) - {"NET_BIND_SERVICE"}:
        yield f"adds capabilities {', '.join(sorted(added))}"
    if own.get("runAsNonRoot", pod.get("runAsNonRoot")) is not True:
        yield "runAsNonRoot is not true"
    if own.get("runAsUser", pod.get("runAsUser")) == 0:
        yield "runs as root"
    if _profile(own, pod, "seccompProfile") not in _PROFILES:
        yield "no seccompProfile"
    if _profile(own, pod, "appArmorProfile") == "Unconfined":
        yield "unconfined by AppArmor"
    if own.get("procMount", "Default") != "Default":
        yield f"procMount {own['procMount']}"
    if any(port.get("hostPort") for port in container.get("ports", ())):
        yield "a hostPort"
    for name in _PROBES:
        for kind in ("httpGet", "tcpSocket"):
            if container.get(name, {}).get(kind, {}).get("host"):
                yield f"{name} names a host"


def _profile(own: Spec, pod: Spec, name: str) -> str | None:
    return (own.get(name) or pod.get(name) or {}).get("type")


def pod_of(document: Spec) -> Spec | None:
    """The spec of the pods that an object makes; None of one that makes none."""
    spec = document.get("spec", {})
    template = spec.get("template") or spec.get("jobTemplate", {}).get("spec", {}).get("template")
    return dict(template["spec"]) if template else None


def unbounded(pod: Spec) -> Sequence[str]:
    """Containers without a limit of memory, or whose root can be written."""
    return [
        container["name"]
        for container in pod["containers"]
        if "memory" not in container.get("resources", {}).get("limits", {})
        or container.get("securityContext", {}).get("readOnlyRootFilesystem") is not True
    ]
