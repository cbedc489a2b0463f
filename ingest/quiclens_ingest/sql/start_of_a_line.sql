-- When a log line's request began: the line says when that was, or when it ended. Written into others.
(/* time_of_a_line.sql */) - toIntervalMicrosecond(if(time_is = 'end', ifNull((/* duration_of_a_line.sql */), 0), 0))
