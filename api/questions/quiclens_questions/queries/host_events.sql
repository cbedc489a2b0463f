-- One row is one event of a host's log within an hour of the stretch, whether it is within it, for how many packets it stands,
-- and whether the log fits what was asked for. Written into others.
SELECT
    log.began_at + toIntervalMicrosecond(e.time_us) AS at,
    ({since:Nullable(DateTime64(6, 'UTC'))} IS NULL OR at >= {since:Nullable(DateTime64(6, 'UTC'))})
        AND ({until:Nullable(DateTime64(6, 'UTC'))} IS NULL OR at < {until:Nullable(DateTime64(6, 'UTC'))}) AS is_within,
    log.server AS server,
    log.cluster AS cluster,
    log.pop AS pop,
    log.fits AS fits,
    e.name AS name,
    e.trigger AS trigger,
    e.dcid AS dcid,
    e.packets AS packets,
    if(e.release = '', log.server_release, e.release) AS release
FROM
(
    SELECT
        connection_id,
        trace_id,
        time_us,
        toString(name) AS name,
        toString(trigger) AS trigger,
        toString(dcid) AS dcid,
        ifNull(count, 1) AS packets,
        JSONExtractString(more['release']) AS release
    FROM events FINAL
    WHERE connection_id >= 'host:'
        AND connection_id < 'host;'
        AND (/* days_of_logs.sql */)
) AS e
INNER JOIN (/* host_logs.sql */) AS log
    ON log.connection_id = e.connection_id
    AND log.trace_id = e.trace_id
WHERE ({since:Nullable(DateTime64(6, 'UTC'))} IS NULL OR at >= subtractHours(greatest({since:Nullable(DateTime64(6, 'UTC'))}, toDateTime64('1970-01-03 00:00:00', 6, 'UTC')), 1))
    AND ({until:Nullable(DateTime64(6, 'UTC'))} IS NULL OR at < addHours(least({until:Nullable(DateTime64(6, 'UTC'))}, toDateTime64('2299-12-30 00:00:00', 6, 'UTC')), 1))
