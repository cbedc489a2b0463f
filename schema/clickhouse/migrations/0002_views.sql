-- What counts now. A trace that is read again, longer or by newer rules, adds rows of a higher version; these views
-- show the latest alone. Filters on connection_id reach the tables' keys through them.

-- One row is one trace: the connection to which its latest version says it belongs, and the rules that made it.
-- An early, short load may have placed the trace in another connection; that one disappears.
CREATE OR REPLACE VIEW traces_now AS
SELECT
    trace_id,
    argMax(each.connection_id, (each.version, each.connection_id)) AS connection_id,
    argMax(each.analysis_version, (each.version, each.connection_id)) AS analysis_version
FROM connections AS each
GROUP BY trace_id;

-- One row is one connection as one trace saw it.
CREATE OR REPLACE VIEW connections_now AS
SELECT *
FROM connections FINAL
WHERE (trace_id, connection_id) IN
(
    SELECT
        trace_id,
        connection_id
    FROM traces_now
);

-- One row is one request/response stream as one trace saw it.
CREATE OR REPLACE VIEW streams_now AS
SELECT *
FROM streams FINAL
WHERE (trace_id, connection_id, analysis_version) IN
(
    SELECT
        trace_id,
        connection_id,
        analysis_version
    FROM traces_now
);

-- One row is a stretch of a connection with one cause, that no later event can change.
CREATE OR REPLACE VIEW episodes_now AS
SELECT *
FROM episodes FINAL
WHERE (trace_id, connection_id, analysis_version) IN
(
    SELECT
        trace_id,
        connection_id,
        analysis_version
    FROM traces_now
);

-- One row is a connection ID seen in a trace.
CREATE OR REPLACE VIEW aliases_now AS
SELECT *
FROM connection_aliases FINAL
WHERE (trace_id, connection_id) IN
(
    SELECT
        trace_id,
        connection_id
    FROM traces_now
);

-- One row is one trace event. Without a look at traces_now, which every drawing of a connection would pay for: ask for
-- the connection_id, vantage and trace_id of a row of connections_now, and only events of that trace come.
CREATE OR REPLACE VIEW events_now AS
SELECT *
FROM events FINAL;

-- The same for one connection, given as connections_of(connection_id = …). These read a few granules however many
-- connections there are, where the views above first look at every trace.

-- One row is one trace that is or was of this connection, as in traces_now; by_trace_id finds its other rows.
CREATE OR REPLACE VIEW traces_of AS
SELECT
    trace_id,
    argMax(each.connection_id, (each.version, each.connection_id)) AS connection_id,
    argMax(each.analysis_version, (each.version, each.connection_id)) AS analysis_version
FROM connections AS each
WHERE trace_id IN
(
    SELECT trace_id
    FROM connections
    WHERE connection_id = {connection_id:String}
)
GROUP BY trace_id;

-- One row is as in connections_now.
CREATE OR REPLACE VIEW connections_of AS
SELECT *
FROM connections FINAL
WHERE connection_id = {connection_id:String} AND (trace_id, connection_id) IN
(
    SELECT
        trace_id,
        connection_id
    FROM traces_of(connection_id = {connection_id:String})
);

-- One row is as in streams_now.
CREATE OR REPLACE VIEW streams_of AS
SELECT *
FROM streams FINAL
WHERE connection_id = {connection_id:String} AND (trace_id, connection_id, analysis_version) IN
(
    SELECT
        trace_id,
        connection_id,
        analysis_version
    FROM traces_of(connection_id = {connection_id:String})
);

-- One row is as in episodes_now.
CREATE OR REPLACE VIEW episodes_of AS
SELECT *
FROM episodes FINAL
WHERE connection_id = {connection_id:String} AND (trace_id, connection_id, analysis_version) IN
(
    SELECT
        trace_id,
        connection_id,
        analysis_version
    FROM traces_of(connection_id = {connection_id:String})
);

-- One row is as in aliases_now.
CREATE OR REPLACE VIEW aliases_of AS
SELECT *
FROM connection_aliases FINAL
WHERE connection_id = {connection_id:String} AND (trace_id, connection_id) IN
(
    SELECT
        trace_id,
        connection_id
    FROM traces_of(connection_id = {connection_id:String})
);
