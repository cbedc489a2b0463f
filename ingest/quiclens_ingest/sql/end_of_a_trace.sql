-- When a trace ended, within a year of its start: lines are not looked for at what lies behind that. Written into others.
(/* start_of_a_trace.sql */) + toIntervalMicrosecond(least(duration_us, 31536000000000))
