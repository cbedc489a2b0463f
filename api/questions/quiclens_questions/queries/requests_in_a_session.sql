-- One row: how many requests lie in a session and have a known protocol.
SELECT count() AS requests
FROM (/* requests_in_sessions.sql */)
WHERE number_in_session IS NOT NULL AND protocol IS NOT NULL
LIMIT 1
