"""Landlock: a process gives up every file but those it names, and TCP, for good; so do the programs it starts.

The kernel's interface is stable and small, and the libraries for it are young, so this speaks with it directly.
Source: https://docs.kernel.org/userspace-api/landlock.html (ABI 1 in Linux 5.13, 4 with TCP in 6.7, 6 with signals and
abstract sockets in 6.12). It binds the calling thread and what that starts, so it comes before any other thread.
"""

import ctypes
import errno
import os
import struct
from collections.abc import Iterable
from pathlib import Path

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446  # the same on every architecture that Python is built for
_VERSION = 1  # flag of _CREATE_RULESET
_RULE_PATH_BENEATH = 1
_PR_SET_NO_NEW_PRIVS = 38
_NET_BIND_TCP, _NET_CONNECT_TCP = 1, 2
_SCOPE_ABSTRACT_UNIX_SOCKET, _SCOPE_SIGNAL = 1, 2

(
    _EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR, _REMOVE_DIR, _REMOVE_FILE, _MAKE_CHAR, _MAKE_DIR, _MAKE_REG,
    _MAKE_SOCK, _MAKE_FIFO, _MAKE_BLOCK, _MAKE_SYM, _REFER, _TRUNCATE, _IOCTL_DEV,
) = (1 << bit for bit in range(16))  # fmt: skip
_RIGHTS_OF = {1: 13, 2: 14, 3: 15, 4: 15}  # how many of them an ABI knows; later ones all
_OF_FILES = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE | _IOCTL_DEV

READ = _READ_FILE | _READ_DIR
RUN = READ | _EXECUTE
USE = _READ_FILE | _WRITE_FILE
REMOVE = _REMOVE_FILE | _REMOVE_DIR
OWN = READ | _WRITE_FILE | _TRUNCATE | REMOVE | _MAKE_DIR | _MAKE_REG | _MAKE_SYM | _REFER

_libc = ctypes.CDLL(None, use_errno=True)


class NotConfined(Exception):
    """This process cannot be restricted; the text says why."""


def abi() -> int:
    """The kernel's version of Landlock; NotConfined where it has none."""
    try:
        return _call(_CREATE_RULESET, None, ctypes.c_size_t(0), ctypes.c_uint32(_VERSION))
    except OSError as error:
        if error.errno in (errno.ENOSYS, errno.EOPNOTSUPP, errno.EPERM):
            raise NotConfined("this kernel has no Landlock, or a container's profile keeps it away") from error
        raise


def restrict(rules: Iterable[tuple[Path, int]]) -> int:
    """Keep these rights on these paths and what is below them, give up all others, and TCP; the ABI that did it.

    NotConfined where the kernel has no Landlock, or where other threads run, which would stay free.
    """
    version = abi()
    if len(os.listdir("/proc/self/task")) != 1:
        raise NotConfined("other threads run already and would stay free")
    rights = (1 << _RIGHTS_OF.get(version, 16)) - 1
    network = _NET_BIND_TCP | _NET_CONNECT_TCP if version >= 4 else 0
    scope = _SCOPE_ABSTRACT_UNIX_SOCKET | _SCOPE_SIGNAL if version >= 6 else 0
    attributes = struct.pack("=QQQ", rights, network, scope)[: 24 if version >= 6 else 16 if version >= 4 else 8]
    ruleset = _call(_CREATE_RULESET, attributes, ctypes.c_size_t(len(attributes)), ctypes.c_uint32(0))
    try:
        for path, kept in rules:
            _allow(ruleset, path, kept & rights)
        if _libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0):
            raise OSError(ctypes.get_errno(), "no_new_privs cannot be set")
        _call(_RESTRICT_SELF, ctypes.c_int(ruleset), ctypes.c_uint32(0))
    finally:
        os.close(ruleset)
    return version


def _allow(ruleset: int, path: Path, kept: int) -> None:
    try:
        place = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except (FileNotFoundError, PermissionError):
        return  # nothing there that could be allowed
    try:
        rule = struct.pack("=Qi", kept if path.is_dir() else kept & _OF_FILES, place)
        _call(_ADD_RULE, ctypes.c_int(ruleset), ctypes.c_int(_RULE_PATH_BENEATH), rule, ctypes.c_uint32(0))
    finally:
        os.close(place)


def _call(number: int, *arguments: object) -> int:
    found = int(_libc.syscall(ctypes.c_long(number), *arguments))
    if found < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return found
