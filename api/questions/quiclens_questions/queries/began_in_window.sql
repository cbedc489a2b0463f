-- A condition on connections, for other questions: it began in a stretch of time that may be open on either side, bounded
-- in the partitions too. Undated ones are there only where it has no beginning.
(/* days_of_window.sql */)
AND ({since:Nullable(DateTime64(6, 'UTC'))} IS NULL OR started_at >= {since:Nullable(DateTime64(6, 'UTC'))})
AND ({until:Nullable(DateTime64(6, 'UTC'))} IS NULL OR started_at IS NULL OR started_at < {until:Nullable(DateTime64(6, 'UTC'))})
