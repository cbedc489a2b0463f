"""The search for the end of a batch that Kafka's client cannot read, so that what follows it is taken.

The client gives its error at the batch's first offset, again and again, and has no word for its last one. So later
offsets are tried, ever further, and then those between the last that failed and the first that did not.
"""

_FAILURES_FIRST = 4  # half a second apart: it may have been broken on its way
_FAILURES_LATER = 2  # one may be left of the offset before


class Skip:
    """What is known of one batch. `tried` is the offset that is being read."""

    def __init__(self, first: int, batch: int, reason: str) -> None:
        self.first = self.tried = first
        self.reason = reason
        self._batch = batch  # the client's name for it
        self._bad = first - 1  # the last offset that is known to lie in it
        self._good: int | None = None  # the first that is known not to
        self._failures = 0
        self._step = 1

    def fails(self, batch: int, end: int) -> bool:
        """Reading failed at `tried`, in a batch; the topic ends at `end`. Whether another offset is to be tried: the
        one that is `tried` from now on."""
        if batch != self._batch:
            return self._has_end(batch if self._bad < batch < self.tried else self.tried)
        self._failures += 1
        if self._failures < (_FAILURES_FIRST if self._bad < self.first else _FAILURES_LATER):
            return False
        self._failures, self._bad = 0, self.tried
        if self._good is None and self._bad + 1 >= end:
            self._good = self._bad + 1
        if self._good is not None:
            return self._has_end(self._good)
        self.tried = min(self._bad + self._step, end - 1)
        self._step *= 2
        return True

    def gives(self) -> bool:
        """Reading gave something at `tried`. Whether another offset is to be tried."""
        return self._bad >= self.first and self._has_end(self.tried)

    @property
    def is_over(self) -> bool:
        """Whether `tried` is the first offset after the batch."""
        return self._good == self.tried == self._bad + 1

    def _has_end(self, good: int) -> bool:
        before = self.tried
        self._good, self._failures = good, 0
        self.tried = self._bad + max(1, (good - self._bad) // 2)
        return self.tried != before
