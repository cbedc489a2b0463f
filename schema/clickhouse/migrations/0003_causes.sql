-- One row is one connection as one trace saw it; these columns came with the whole vocabulary of causes. A view keeps the
-- columns that it was made with, so those of connections are made again.
ALTER TABLE connections
    ADD COLUMN IF NOT EXISTS paths UInt32 CODEC(ZSTD(3)) AFTER migrations,
    ADD COLUMN IF NOT EXISTS paths_validated UInt32 CODEC(ZSTD(3)) AFTER paths,
    ADD COLUMN IF NOT EXISTS key_updates UInt32 CODEC(ZSTD(3)) AFTER paths_validated,
    ADD COLUMN IF NOT EXISTS ptos_spurious UInt64 CODEC(ZSTD(3)) AFTER ptos;

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
