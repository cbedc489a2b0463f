"""What the API was told: which store, limits, and what is beside it."""

from dataclasses import dataclass, field

from quiclens_schema.store import Store

from quiclens_web.front.keep import GB, MB


@dataclass(frozen=True, slots=True)
class QuestionLimits:
    """Bounds of one question and of all together."""

    seconds: float = 30
    memory_bytes: int = 2 * GB
    rows: int = 500_000  # of one statement's answer
    answer_bytes: int = 64 * MB  # of one statement's answer in the engine, and of the document made of it
    read_rows: int = 2_000_000_000  # that one statement may look at
    at_once: int = 8
    wait_seconds: float = 5  # for a place, then 429
    held_bytes: int = 1 * GB  # of all answers at one time, where no embedded store has a budget of its own
    upload_bytes: int = 256 * MB  # as it comes; the collector bounds what it decompresses to

    def settings(self) -> dict[str, int | float | str]:
        """The same as settings of the engine, for every statement."""
        return {
            "max_execution_time": self.seconds,
            "max_memory_usage": self.memory_bytes,
            "max_result_rows": self.rows,
            "max_result_bytes": self.answer_bytes,
            "max_rows_to_read": self.read_rows,
        }


@dataclass(frozen=True, slots=True)
class UploadLimits:
    """Bounds of uploads: of collectors that run, and of files that wait on disk to be read, or still come."""

    at_once: int = 3
    of_one: int = 2  # visitor
    wait_seconds: float = 10  # for a place, of this visitor and then of all, then 503
    retry_after_seconds: int = 10
    files_bytes: int = 1 * GB  # of all files at one time

    @property
    def files_bytes_of_one(self) -> int:
        """Of the files of one visitor: two of the largest."""
        return self.files_bytes // 2


@dataclass(frozen=True, slots=True)
class ExportLimits:
    """Bounds of exports: of files on disk that are made, or not sent yet, and of the time one takes to be made."""

    files_bytes: int = 4 * GB  # of all files at one time
    seconds: float = 300

    @property
    def files_bytes_of_one(self) -> int:
        """Of the files of one visitor."""
        return self.files_bytes // 2


@dataclass(frozen=True, slots=True)
class ApiSettings:
    """All that `create_app` needs."""

    store: Store
    qvis: str = ""  # address of a qvis, such as https://qvis.example.net; empty: none
    expected: tuple[str, ...] = ()  # servers that must send, heard of or not
    redacts_uploads: bool = True  # no client address, header value, payload byte or user name of them is kept
    limits: QuestionLimits = field(default_factory=QuestionLimits)
    uploads: UploadLimits = field(default_factory=UploadLimits)
    exports: ExportLimits = field(default_factory=ExportLimits)
