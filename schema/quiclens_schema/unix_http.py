"""HTTP over a unix socket, by urllib3: the kernel says who may connect, so no token is needed there."""

import socket
from pathlib import Path

from urllib3 import HTTPConnectionPool, PoolManager
from urllib3.connection import HTTPConnection

URL = "http://localhost"
"""What stands in the place of an address: the socket decides where a request goes."""


def pool_manager(path: Path) -> PoolManager:
    """A pool manager all of whose connections go to the socket at `path`, whatever host a URL names."""

    class UnixConnection(HTTPConnection):
        def _new_conn(self) -> socket.socket:
            made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            try:
                if isinstance(self.timeout, int | float):
                    made.settimeout(self.timeout)
                made.connect(str(path))
            except BaseException:
                made.close()
                raise
            return made

    class Pool(HTTPConnectionPool):
        ConnectionCls = UnixConnection

    manager = PoolManager(maxsize=8)
    manager.pool_classes_by_scheme = {"http": Pool}
    return manager
