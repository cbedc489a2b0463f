-- One row is one request, as before; it also has what the absence of each cause would have saved, and which causes its
-- trace could not have shown, so that a report needs no join. Hours linked before have neither until they are linked again.
ALTER TABLE requests
    ADD COLUMN IF NOT EXISTS saves Map(LowCardinality(String), UInt64) CODEC(ZSTD(3)) AFTER unattributed_us,
    ADD COLUMN IF NOT EXISTS cannot_show Array(LowCardinality(String)) CODEC(ZSTD(3)) AFTER saves;

-- One row is a load that was not linked: so the next one links every hour again, where there are any.
INSERT INTO link_pending (token)
SELECT '0004_saves'
FROM requests
LIMIT 1;
