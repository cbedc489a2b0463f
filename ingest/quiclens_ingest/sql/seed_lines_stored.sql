-- One row is a log line stored after the mark.
INSERT INTO {seed_lines:Identifier}
SELECT DISTINCT
    log_id,
    offset,
    line_day AS day
FROM request_lines
WHERE NOT arrayExists(
        known -> known.1 = splitByChar('_', _part)[1]
            AND known.2 <= toInt64(splitByChar('_', _part)[2])
            AND known.3 >= toInt64(splitByChar('_', _part)[3]),
        {request_lines_known:Array(Tuple(String, Int64, Int64))}
    )
    AND NOT arrayExists(
        known -> known.1 = _partition_id AND known.2 <= toInt64(_block_number) AND known.3 >= toInt64(_block_number),
        {request_lines_known:Array(Tuple(String, Int64, Int64))}
    )
