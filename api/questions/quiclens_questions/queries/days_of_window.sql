-- A condition on rows of traces, for other questions: the days on which a trace of the stretch can have started. All of a
-- trace lies in the partition of its day; undated traces have the first day of all.
({since:Nullable(DateTime64(6, 'UTC'))} IS NULL OR trace_day >= toDate32({since:Nullable(DateTime64(6, 'UTC'))}))
AND (/* days_until.sql */)
