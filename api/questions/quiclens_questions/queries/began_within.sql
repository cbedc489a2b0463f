-- A condition on requests, for other questions: it began in a stretch of time, bounded in the primary key too.
started_at IS NOT NULL
AND started_hour >= toStartOfHour({since:DateTime64(6, 'UTC')})
AND started_hour <= toStartOfHour({until:DateTime64(6, 'UTC')})
AND started_at >= {since:DateTime64(6, 'UTC')}
AND started_at < {until:DateTime64(6, 'UTC')}
