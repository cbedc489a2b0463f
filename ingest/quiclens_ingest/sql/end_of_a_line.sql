-- When a log line's request ended. Written into others.
(/* time_of_a_line.sql */) + toIntervalMicrosecond(if(time_is = 'end', 0, ifNull((/* duration_of_a_line.sql */), 0)))
