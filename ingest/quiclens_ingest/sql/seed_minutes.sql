-- One row is a minute in which requests of this day stand.
INSERT INTO {minutes:Identifier}
SELECT DISTINCT started_minute
FROM request_versions
WHERE day = {day:Date}
