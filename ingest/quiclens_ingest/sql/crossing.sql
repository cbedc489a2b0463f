-- One row is a line whose own request lies in another partition than the traced request that takes it, or that took it in
-- a step which was cut short.
INSERT INTO {crossing:Identifier}
SELECT DISTINCT of_line.line_key
FROM {requests:Identifier} AS requests
INNER JOIN (SELECT request_id, any(day) AS day FROM {old:Identifier} WHERE trace_id IS NOT NULL GROUP BY request_id) AS of_stream
    ON of_stream.request_id = requests.request_id
INNER JOIN (SELECT line_key, any(day) AS day FROM {old:Identifier} WHERE trace_id IS NULL AND line_key != '' GROUP BY line_key) AS of_line
    ON of_line.line_key = concat(requests.log_id, '/', toString(requests.offset))
WHERE requests.trace_id IS NOT NULL AND of_line.day != of_stream.day
UNION DISTINCT
SELECT line_key
FROM {old:Identifier}
WHERE crosses = 1
