-- One row is a version of a log line that a later one has outdone, maybe on another day, where no merge meets both.
DELETE FROM request_lines
WHERE line_day IN ((/* days_of_lines.sql */))
    AND (log_id, offset) IN (SELECT log_id, offset FROM {outdone:Identifier})
    AND (log_id, offset, stored_at) NOT IN (SELECT log_id, offset, last_stored_at FROM {outdone:Identifier})
