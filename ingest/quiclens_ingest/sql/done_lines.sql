-- One row is a log line that linking has had in hand.
INSERT INTO {done_lines:Identifier}
SELECT DISTINCT
    log_id,
    offset
FROM
(
    SELECT
        log_id,
        offset
    FROM {lines:Identifier}
    UNION ALL
    SELECT
        log_id,
        offset
    FROM {line_ids:Identifier}
)
WHERE (log_id, offset) NOT IN (SELECT log_id, offset FROM {done_lines:Identifier})
