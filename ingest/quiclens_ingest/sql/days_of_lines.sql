-- One row is a day on which a version may lie of a log line from which linking starts now. Written into others.
SELECT day
FROM {line_ids:Identifier}
UNION DISTINCT
SELECT arrayJoin([toDate(started_hour) - 1, toDate(started_hour), toDate(started_hour) + 1]) AS day
FROM {again:Identifier}
