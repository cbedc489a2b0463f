-- One row is one request, as before; one is found by the id that it had elsewhere without a look at all of them. Rows
-- from before are indexed when they are merged or linked again.
ALTER TABLE requests
    ADD INDEX IF NOT EXISTS by_external_id external_id TYPE bloom_filter(0.01) GRANULARITY 1;
