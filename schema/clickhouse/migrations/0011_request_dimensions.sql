-- One row is one value of one column of an hour's requests. Written by link alone, whole hours at a time, with those of
-- requests.
CREATE TABLE IF NOT EXISTS request_dimensions
(
    started_hour DateTime('UTC') CODEC(ZSTD(3)),
    dimension LowCardinality(String) CODEC(ZSTD(3)),
    value String CODEC(ZSTD(3)),
    requests UInt64 CODEC(ZSTD(3))
)
ENGINE = MergeTree
PARTITION BY started_hour
ORDER BY (dimension, started_hour, value)
SETTINGS
    fsync_after_insert = 1,
    fsync_part_directory = 1;

-- One row is a load that was not linked: so the next one links every hour again, where there are any.
INSERT INTO link_pending (token)
SELECT '0011_request_dimensions'
FROM requests
LIMIT 1;
