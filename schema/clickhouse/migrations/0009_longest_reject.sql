-- Of two rejects at one place the longer one holds more of what stood there: a line that was cut in the reader's hand
-- comes again, whole, from the copy of its log. As before in all else. May be run again from any point of it, and while
-- rows come: what an earlier run left aside, and what came meanwhile, is taken over.
CREATE TABLE IF NOT EXISTS rejects_before AS rejects;

INSERT INTO rejects SELECT * FROM rejects_before;

DROP TABLE rejects_before;

DROP TABLE IF EXISTS rejects_longest;

-- One row is one thing that could not become a row.
CREATE TABLE rejects_longest
(
    source String CODEC(ZSTD(3)),
    offset UInt64 CODEC(ZSTD(3)),
    length UInt64 CODEC(ZSTD(3)),
    hash String CODEC(ZSTD(3)),
    reason LowCardinality(String) CODEC(ZSTD(3)),
    file String CODEC(ZSTD(3)),
    trace_id String CODEC(ZSTD(3)),
    seq Nullable(UInt64) CODEC(ZSTD(3)),
    seq_last Nullable(UInt64) CODEC(ZSTD(3)),
    bytes String CODEC(ZSTD(3)),
    ingested_at DateTime64(6, 'UTC') DEFAULT now64(6) CODEC(ZSTD(3))
)
ENGINE = ReplacingMergeTree(length)
ORDER BY (source, offset)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1;

INSERT INTO rejects_longest SELECT * FROM rejects;

RENAME TABLE rejects TO rejects_before, rejects_longest TO rejects;

INSERT INTO rejects SELECT * FROM rejects_before;

DROP TABLE rejects_before;
