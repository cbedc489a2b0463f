-- One row is five minutes of requests that are alike in seven ways. Written by link alone, whole hours at a time, with
-- those of requests.
CREATE TABLE IF NOT EXISTS request_rollups
(
    started_hour DateTime('UTC') CODEC(ZSTD(3)),
    bucket_at DateTime('UTC') CODEC(ZSTD(3)),
    carrier LowCardinality(Nullable(String)) CODEC(ZSTD(3)),
    region LowCardinality(Nullable(String)) CODEC(ZSTD(3)),
    city LowCardinality(Nullable(String)) CODEC(ZSTD(3)),
    pop LowCardinality(Nullable(String)) CODEC(ZSTD(3)),
    protocol LowCardinality(Nullable(String)) CODEC(ZSTD(3)),
    network_type LowCardinality(Nullable(String)) CODEC(ZSTD(3)),
    app_version LowCardinality(Nullable(String)) CODEC(ZSTD(3)),
    requests UInt64 CODEC(ZSTD(3)),
    measured UInt64 CODEC(ZSTD(3)),
    traced UInt64 CODEC(ZSTD(3)),
    failed UInt64 CODEC(ZSTD(3)),
    weight Float64 CODEC(ZSTD(3)),
    duration_histogram Map(UInt16, UInt64) CODEC(ZSTD(3))
)
ENGINE = MergeTree
PARTITION BY started_hour
ORDER BY (bucket_at, carrier, region, city, pop, protocol, network_type, app_version)
SETTINGS
    allow_nullable_key = 1,
    fsync_after_insert = 1,
    fsync_part_directory = 1;

-- One row is a load that was not linked: so the next one links every hour again, where there are any.
INSERT INTO link_pending (token)
SELECT '0010_request_rollups'
FROM requests
LIMIT 1;
