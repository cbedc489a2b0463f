-- One row is a log line from which linking starts now. What came over TCP has no stream, whatever its line names and
-- whoever its client is: here it names nothing.
INSERT INTO {lines:Identifier}
WITH ifNull(protocol IN ('h1', 'h2'), false) AS is_tcp
SELECT
    * EXCEPT (line_day, more)
    REPLACE (
        if(is_tcp, NULL, connection_id) AS connection_id,
        if(is_tcp, NULL, stream_id) AS stream_id,
        if(is_tcp, NULL, client_key) AS client_key,
        (/* duration_of_a_line.sql */) AS duration_us
    ),
    (/* start_of_a_line.sql */) AS start_at,
    (/* end_of_a_line.sql */) AS end_at,
    0 AS step
FROM request_lines
WHERE line_day IN ((/* days_of_lines.sql */))
    AND (log_id, offset) IN (SELECT log_id, offset FROM {line_ids:Identifier})
ORDER BY _block_number DESC
LIMIT 1 BY log_id, offset
