-- The time that a log line says, if it lies in 2000 to 2099. NULL beyond: no clock shows that, and an instant far away
-- would overflow. Written into others.
arrayFirstOrNull(
    said -> said >= toDateTime64('2000-01-01 00:00:00', 6, 'UTC') AND said < toDateTime64('2100-01-01 00:00:00', 6, 'UTC'),
    [time]
)
