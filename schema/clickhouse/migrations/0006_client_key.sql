-- One row is one connection, as before; it also has the key under which lines of its client's address and port are found,
-- where the collector knows a secret. A client that moved has one more key for each path, in connection_aliases under the
-- role client_key, where the first one stands too.
ALTER TABLE connections
    ADD COLUMN IF NOT EXISTS client_key Nullable(String) CODEC(ZSTD(3)) AFTER client_network;

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
