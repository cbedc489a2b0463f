-- A condition on rows of traces, for other questions: the days up to the end of the stretch. Date32, for Date begins anew
-- outside of 1970 to 2149.
({until:Nullable(DateTime64(6, 'UTC'))} IS NULL OR trace_day <= toDate32({until:Nullable(DateTime64(6, 'UTC'))}))
