-- When a trace or one of its streams began, if that lies in 2000 to 2099, as of a line's time. Written into others.
arrayFirstOrNull(
    said -> said >= toDateTime64('2000-01-01 00:00:00', 6, 'UTC') AND said < toDateTime64('2100-01-01 00:00:00', 6, 'UTC'),
    [started_at]
)
