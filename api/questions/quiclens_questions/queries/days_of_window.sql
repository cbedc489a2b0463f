-- A condition on rows of traces, for other questions: the days on which a trace of the stretch can have started. All of a trace
-- lies in the partition of its day; undated traces have the first day of all. Date32, for Date begins
-- anew outside of 1970 to 2149.
({since:Nullable(DateTime64(6, 'UTC'))} IS NULL OR trace_day >= toDate32({since:Nullable(DateTime64(6, 'UTC'))}))
AND ({until:Nullable(DateTime64(6, 'UTC'))} IS NULL OR trace_day <= toDate32({until:Nullable(DateTime64(6, 'UTC'))}))
