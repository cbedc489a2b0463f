-- When a log line's request ended. Written into others.
if(time_is = 'end', time, time + toIntervalMicrosecond(ifNull(duration_us, 0)))
