-- One row is how far somebody's linking has come: which parts of the tables it had seen, as JSON.
CREATE TABLE IF NOT EXISTS link_marks
(
    name String,
    mark String,
    made_at DateTime64(6, 'UTC') DEFAULT now64(6)
)
ENGINE = ReplacingMergeTree(made_at)
ORDER BY name
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1;
