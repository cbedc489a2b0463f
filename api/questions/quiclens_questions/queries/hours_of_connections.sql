-- A condition on requests, for other questions: the hours in which a request of a connection that began in the stretch can have
-- begun, an hour more on both sides for clocks that differ; requests without a time may be of any.
(
    {since:Nullable(DateTime64(6, 'UTC'))} IS NULL
    OR started_hour >= toDateTime(least(greatest(0, toUnixTimestamp64Second(assumeNotNull({since:Nullable(DateTime64(6, 'UTC'))})) - 7200), 4294967295), 'UTC')
    OR started_hour = toDateTime(0, 'UTC')
)
AND
(
    {until:Nullable(DateTime64(6, 'UTC'))} IS NULL
    OR started_hour <=
    (
        SELECT toStartOfHour(max(ifNull(started_at, toDateTime64(0, 6, 'UTC')) + toIntervalMicrosecond(duration_us))) + INTERVAL 1 HOUR
        FROM connections
        WHERE (/* began_in_window.sql */)
    )
)
