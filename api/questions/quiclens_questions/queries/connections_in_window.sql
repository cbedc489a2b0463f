-- One row is one trace of a connection that began in a stretch of time, for other questions: the view connections_now, held to
-- the days of the stretch.
SELECT *
FROM connections
FINAL
WHERE (/* began_in_window.sql */)
    AND (trace_id, connection_id) IN
    (
        SELECT
            trace_id,
            argMax(each.connection_id, (each.version, each.connection_id))
        FROM connections AS each
        WHERE (/* days_of_window.sql */)
            AND trace_id IN (SELECT trace_id FROM connections WHERE (/* began_in_window.sql */))
        GROUP BY trace_id
    )
