-- One row is one trace of the connections in hand, as it is now: as in `traces_now`.
INSERT INTO {traces:Identifier}
SELECT
    trace_id,
    argMax(each.connection_id, (each.version, each.connection_id)) AS connection_id,
    argMax(each.analysis_version, (each.version, each.connection_id)) AS analysis_version
FROM connections AS each
WHERE trace_day IN (SELECT day FROM {connections:Identifier})
    AND trace_id IN
    (
        SELECT trace_id
        FROM connections
        WHERE trace_day IN (SELECT day FROM {connections:Identifier})
            AND connection_id IN (SELECT connection_id FROM {connections:Identifier})
    )
GROUP BY trace_id
