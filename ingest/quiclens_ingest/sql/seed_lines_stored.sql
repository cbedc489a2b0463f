-- One row is a log line stored after the mark.
INSERT INTO {seed_lines:Identifier}
SELECT DISTINCT
    log_id,
    offset,
    line_day AS day
FROM request_lines
WHERE (/* stored_after.sql of request_lines */)
