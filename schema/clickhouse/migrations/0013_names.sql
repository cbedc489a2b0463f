-- One row is one request, as before; one is found by its id without a look into every part of the table, which matters
-- as each hour has parts of its own. Rows from before are indexed when they are merged or linked again, here as below.
ALTER TABLE requests
    ADD INDEX IF NOT EXISTS by_request_id request_id TYPE bloom_filter(0.01) GRANULARITY 1;

-- One row is one connection as one trace saw it, as before; found likewise.
ALTER TABLE connections
    ADD INDEX IF NOT EXISTS by_connection_id connection_id TYPE bloom_filter(0.01) GRANULARITY 1;

-- One row is one stream, as before; those of a connection are found likewise.
ALTER TABLE streams
    ADD INDEX IF NOT EXISTS by_connection_id connection_id TYPE bloom_filter(0.01) GRANULARITY 1;

-- One row is one episode, as before; those of a connection are found likewise.
ALTER TABLE episodes
    ADD INDEX IF NOT EXISTS by_connection_id connection_id TYPE bloom_filter(0.01) GRANULARITY 1;
