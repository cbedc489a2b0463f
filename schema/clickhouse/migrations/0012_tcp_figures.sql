-- One row is one line of an HTTP access log, as before; it also has what the server's TCP said of the connection when the
-- line was written. Of lines read before, such figures are in `more` until their log is read again.
ALTER TABLE request_lines
    ADD COLUMN IF NOT EXISTS rtt_variance_us Nullable(UInt64) CODEC(ZSTD(3)),
    ADD COLUMN IF NOT EXISTS tcp_congestion_window_packets Nullable(UInt32) CODEC(ZSTD(3)),
    ADD COLUMN IF NOT EXISTS tcp_packets_lost_outstanding Nullable(UInt32) CODEC(ZSTD(3)),
    ADD COLUMN IF NOT EXISTS tcp_packets_retransmitted_outstanding Nullable(UInt32) CODEC(ZSTD(3));

-- One row is one request, as before; it also has those figures of its line.
ALTER TABLE requests
    ADD COLUMN IF NOT EXISTS rtt_variance_us Nullable(UInt64) CODEC(ZSTD(3)),
    ADD COLUMN IF NOT EXISTS tcp_congestion_window_packets Nullable(UInt32) CODEC(ZSTD(3)),
    ADD COLUMN IF NOT EXISTS tcp_packets_lost_outstanding Nullable(UInt32) CODEC(ZSTD(3)),
    ADD COLUMN IF NOT EXISTS tcp_packets_retransmitted_outstanding Nullable(UInt32) CODEC(ZSTD(3));

-- One row is a load that was not linked: so the next one links every hour again, where there are any. Requests over TCP
-- that were linked to a stream lose it.
INSERT INTO link_pending (token)
SELECT '0012_tcp_figures'
FROM requests
LIMIT 1;
