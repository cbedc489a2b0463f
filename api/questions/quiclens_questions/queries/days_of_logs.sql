-- A condition on rows of logs of hosts and apps, for other questions: the days on which one that reaches into the stretch, or
-- an hour before it, can have begun. It begins anew at least once a day.
(
    {since:Nullable(DateTime64(6, 'UTC'))} IS NULL
    OR trace_day >= toDate32(subtractHours(greatest({since:Nullable(DateTime64(6, 'UTC'))}, toDateTime64('1970-01-03 00:00:00', 6, 'UTC')), 25))
)
AND
(
    {until:Nullable(DateTime64(6, 'UTC'))} IS NULL
    OR trace_day <= toDate32(addHours(least({until:Nullable(DateTime64(6, 'UTC'))}, toDateTime64('2299-12-30 00:00:00', 6, 'UTC')), 1))
)
