-- The day of a trace that has no date, or one outside of 2000 to 2099. Written into others.
trace_day < toDate('2000-01-01') OR trace_day >= toDate('2100-01-01')
