-- When a log line's request began: the line says when that was, or when it ended. Written into others.
if(time_is = 'end', time - toIntervalMicrosecond(ifNull(duration_us, 0)), time)
