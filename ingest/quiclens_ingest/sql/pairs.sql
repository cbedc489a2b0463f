-- One row is a line and the stream it means, or a line that may mean several (`is_ambiguous`).
INSERT INTO {pairs:Identifier}
SELECT
    log_id,
    offset,
    any(each.start_at) AS start_at,
    any(each.rank) AS rank,
    min(each.connection_id) AS connection_id,
    any(each.stream_id) AS stream_id,
    uniqExact(each.connection_id, each.stream_id) > 1 OR max(each.is_shared) AS is_ambiguous
FROM {means:Identifier} AS each
GROUP BY
    log_id,
    offset
