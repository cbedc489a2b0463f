-- One row: how many requests began in a stretch of time.
SELECT count() AS requests
FROM requests
WHERE started_at IS NOT NULL
    AND started_hour >= toStartOfHour({since:DateTime64(6, 'UTC')})
    AND started_hour <= toStartOfHour({until:DateTime64(6, 'UTC')})
    AND started_at >= {since:DateTime64(6, 'UTC')}
    AND started_at < {until:DateTime64(6, 'UTC')}
/* conditions */
LIMIT 1
