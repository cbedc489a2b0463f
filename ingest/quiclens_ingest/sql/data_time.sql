-- One row: the latest instant that streams and log lines stored after the mark speak of; null when none is dated.
SELECT max(latest_at) AS latest_at
FROM
(
    SELECT max(started_at + toIntervalMicrosecond(duration_us)) AS latest_at
    FROM streams
    WHERE NOT arrayExists(
            known -> known.1 = splitByChar('_', _part)[1]
                AND known.2 <= toInt64(splitByChar('_', _part)[2])
                AND known.3 >= toInt64(splitByChar('_', _part)[3]),
            {streams_known:Array(Tuple(String, Int64, Int64))}
        )
    UNION ALL
    SELECT max(toNullable(time)) AS latest_at
    FROM request_lines
    WHERE NOT arrayExists(
            known -> known.1 = splitByChar('_', _part)[1]
                AND known.2 <= toInt64(splitByChar('_', _part)[2])
                AND known.3 >= toInt64(splitByChar('_', _part)[3]),
            {request_lines_known:Array(Tuple(String, Int64, Int64))}
        )
)
LIMIT 1
