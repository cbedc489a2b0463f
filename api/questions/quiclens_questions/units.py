"""Numbers as people read them: durations, sizes, shares. Rounding is for the eye, documents keep whole microseconds."""


def duration(us: float | None) -> str:
    """Three or so digits that matter: 812 µs, 4.31 ms, 49.4 ms, 640 ms, 1.24 s."""
    if us is None:
        return "–"
    size = abs(us)
    if size < 1_000:
        return f"{us:.0f} µs"
    if size < 9_995:
        return f"{us / 1e3:.2f} ms"
    if size < 99_950:
        return f"{us / 1e3:.1f} ms"
    if size < 999_500:
        return f"{us / 1e3:.0f} ms"
    return f"{us / 1e6:.2f} s" if size < 99_995_000 else f"{us / 1e6:,.0f} s"


def milliseconds(us: float | None, digits: int = 1) -> str:
    """For columns: one unit, the same digits."""
    return "–" if us is None else f"{us / 1e3:,.{digits}f}"


def size(count: float | None) -> str:
    if count is None:
        return "–"
    if count < 1_000:
        return f"{count:.0f} B"
    for power, unit in ((1e3, "kB"), (1e6, "MB"), (1e9, "GB")):
        if count < power * 999.5 or unit == "GB":
            return f"{count / power:.1f} {unit}" if count < power * 99.95 else f"{count / power:,.0f} {unit}"
    raise AssertionError(count)


def share(part: float, whole: float) -> str:
    """A percentage that never rounds something to nothing, nor almost all to all."""
    if whole <= 0:
        return "–"
    percent = 100 * part / whole
    if 0 < percent < 1:
        return "<1 %"
    return ">99 %" if 99 < percent < 100 else f"{percent:.0f} %"


def times(part: float, whole: float) -> str:
    """How often the whole goes into the part: 0.8, 3.4, 120."""
    ratio = part / whole
    return f"{ratio:.1f}" if ratio < 9.95 else f"{ratio:,.0f}"


def share_interval(low: float | None, high: float | None) -> str:
    """The ends of an interval of a share of 1; nothing where nothing bounds it."""
    return "" if low is None or high is None else f"{share(low, 1)} to {share(high, 1)}"


def age(seconds: int) -> str:
    """How long ago: 40 s, 12 min, 21 h, 3 d."""
    for length, unit in ((86_400, "d"), (3_600, "h"), (60, "min")):
        if seconds >= 2 * length:
            return f"{seconds // length:,} {unit}"
    return f"{seconds} s"
