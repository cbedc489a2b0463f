-- How long a log line's request took, if the line says at most 30 days. NULL beyond: no request takes so long. Written
-- into others.
if(duration_us <= 2592000000000, duration_us, NULL)
