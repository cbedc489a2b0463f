-- One row is one request of a window or of the stretch before it, for the other questions of triage: in which segment of time
-- it lies (0 = before the window), whether it was slower than nine of ten, than 99 of 100, and than 999 of 1,000, of its kind
-- in all of that time, and whether it failed. Its kind is its protocol, carrier and path (`kinds`), where those are frequent;
-- else the first two; else any. Of those that are neither slow nor failed one of so many is there (`every`), and stands for
-- them.
SELECT
    *,
    arrayCount(edge -> assumeNotNull(started_at) >= edge, {edges:Array(DateTime64(6, 'UTC'))}) AS segment,
    (/* ingest/measured_request.sql */) AS is_measured,
    ifNull(toString(protocol), '') AS protocol_name,
    ifNull(toString(carrier), '') AS carrier_name,
    transform(
        cityHash64(protocol_name, carrier_name, ifNull(path, '')),
        {kinds:Array(UInt64)},
        arrayEnumerate({kinds:Array(UInt64)}),
        transform(cityHash64(protocol_name, carrier_name), {kinds:Array(UInt64)}, arrayEnumerate({kinds:Array(UInt64)}), toUInt32(0))
    ) AS kind,
    is_measured AND duration_us > transform(kind, arrayEnumerate({kinds:Array(UInt64)}), {slow_us:Array(UInt64)}, {all_slow_us:UInt64}) AS is_slow,
    is_measured AND duration_us > transform(kind, arrayEnumerate({kinds:Array(UInt64)}), {very_slow_us:Array(UInt64)}, {all_very_slow_us:UInt64}) AS is_very_slow,
    transform(kind, arrayEnumerate({kinds:Array(UInt64)}), {extreme_us:Array(UInt64)}, {all_extreme_us:UInt64}) AS beyond_us,
    is_measured AND beyond_us > 0 AND duration_us > beyond_us AS is_extreme,
    complete AND (/* ingest/failed_request.sql */) AS is_failed,
    if(is_slow OR is_failed, 1, {every:UInt32}) AS stands_for
FROM requests
WHERE started_at IS NOT NULL
    AND (is_slow OR is_failed OR {every:UInt32} = 1 OR cityHash64(request_id) % {every:UInt32} = 0)
    AND (/* in_window.sql */)
/* conditions */
