-- One row is a connection whose request has, or had, one of the log lines that were read again: it may have it no more.
INSERT INTO {taken:Identifier}
SELECT
    assumeNotNull(linked.connection_id) AS connection_id,
    min(linked.day) AS first_day,
    max(linked.day) AS last_day
FROM request_versions AS linked
WHERE started_hour IN (SELECT started_hour FROM {again:Identifier})
    AND (log_id, offset) IN (SELECT log_id, offset FROM {line_ids:Identifier})
    AND trace_id IS NOT NULL
    AND connection_id NOT IN (SELECT connection_id FROM {taken:Identifier})
GROUP BY connection_id
