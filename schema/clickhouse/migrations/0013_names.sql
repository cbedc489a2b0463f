-- One row is what it was; a request and a connection are found by their name without a look into every part of the
-- table. Rows from before are indexed when they are merged or linked again.
ALTER TABLE requests
    ADD INDEX IF NOT EXISTS by_request_id request_id TYPE bloom_filter(0.01) GRANULARITY 1;

ALTER TABLE connections
    ADD INDEX IF NOT EXISTS by_connection_id connection_id TYPE bloom_filter(0.01) GRANULARITY 1;

ALTER TABLE streams
    ADD INDEX IF NOT EXISTS by_connection_id connection_id TYPE bloom_filter(0.01) GRANULARITY 1;

ALTER TABLE episodes
    ADD INDEX IF NOT EXISTS by_connection_id connection_id TYPE bloom_filter(0.01) GRANULARITY 1;

ALTER TABLE events
    ADD INDEX IF NOT EXISTS by_connection_id connection_id TYPE bloom_filter(0.01) GRANULARITY 1;
