-- One row is a log line of this day, or one that a request of this day has.
INSERT INTO {seed_lines:Identifier}
SELECT DISTINCT
    log_id,
    offset,
    {day:Date} AS day
FROM
(
    SELECT
        log_id,
        offset
    FROM request_lines
    WHERE line_day = {day:Date}
    UNION ALL
    SELECT
        assumeNotNull(requests.log_id) AS log_id,
        assumeNotNull(requests.offset) AS offset
    FROM request_versions AS requests
    WHERE requests.log_id IS NOT NULL AND day = {day:Date}
)
