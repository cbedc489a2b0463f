"""What can go wrong with a store."""


class StoreError(Exception):
    """The store refused or failed; `code` is ClickHouse's error code where there is one."""

    def __init__(self, message: str, code: int | None = None) -> None:
        super().__init__(message)
        self.code = code


class StoreBusy(StoreError):  # noqa: N818 (a state, not a mistake)
    """Another process holds the embedded store; `pid` is its process id where known."""

    def __init__(self, message: str, pid: int | None = None) -> None:
        super().__init__(message)
        self.pid = pid
