-- One row is one thing that could not become a row, as before; it may stand for a run of records, from seq to seq_last.
ALTER TABLE rejects
    ADD COLUMN IF NOT EXISTS seq_last Nullable(UInt64) CODEC(ZSTD(3)) AFTER seq;
