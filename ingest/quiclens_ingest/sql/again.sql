-- One row is an hour in which a request stands of one of the log lines from which linking starts now, or of a neighbour of
-- it. Lines of a log come in their order: there is none for new ones, only for such as were read before.
INSERT INTO {again:Identifier}
SELECT DISTINCT linked.started_hour
FROM
(
    SELECT
        log_id,
        started_hour,
        min(offset) AS first_offset,
        max(offset) AS last_offset
    FROM request_versions
    WHERE log_id IN (SELECT log_id FROM {line_ids:Identifier})
    GROUP BY
        log_id,
        started_hour
) AS linked
INNER JOIN
(
    SELECT
        log_id,
        min(offset) AS first_offset,
        max(offset) AS last_offset
    FROM {line_ids:Identifier}
    GROUP BY log_id
) AS taken ON taken.log_id = linked.log_id
WHERE linked.first_offset <= taken.last_offset AND linked.last_offset >= taken.first_offset
