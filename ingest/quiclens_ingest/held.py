"""How much memory messages of each topic hold, and of which topics no more may be taken."""

from collections.abc import Iterable

_RESUME_SHARE = 0.6  # of what may be held


class HeldBytes:
    """Half of the memory is dealt out, each topic its own share; the other half is taken by whoever comes first.

    So a topic whose table takes nothing holds half of it and its share, and the others go on with theirs.
    """

    def __init__(self, topics: Iterable[str], bytes_max: int) -> None:
        self._bytes = dict.fromkeys(topics, 0)
        self._common_max = bytes_max / 2
        self._share = bytes_max / 2 / len(self._bytes)
        self.paused: set[str] = set()
        """Topics of which no more is taken."""

    @property
    def total(self) -> int:
        """Bytes of all topics."""
        return sum(self._bytes.values())

    def add(self, topic: str, size: int) -> None:
        """Messages of a topic were taken; less than nothing, when they are held no more."""
        self._bytes[topic] += size

    def press(self) -> tuple[set[str], set[str]]:
        """The topics that are to be paused from now on, and those that may go on."""
        common = sum(max(0, held - self._share) for held in self._bytes.values())
        pause: set[str] = set()
        resume: set[str] = set()
        for topic, held in self._bytes.items():
            if topic not in self.paused:
                if common > self._common_max and held > self._share:
                    pause.add(topic)
            elif common <= self._common_max * _RESUME_SHARE or held <= self._share * _RESUME_SHARE:
                resume.add(topic)
        self.paused = (self.paused | pause) - resume
        return pause, resume
