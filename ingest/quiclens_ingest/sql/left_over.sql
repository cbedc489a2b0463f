-- One row: whether anything is left from which linking starts.
SELECT
    (SELECT count() FROM {seeds:Identifier} WHERE connection_id NOT IN (SELECT connection_id FROM {done:Identifier}))
    + (SELECT count() FROM {seed_lines:Identifier} WHERE (log_id, offset) NOT IN (SELECT log_id, offset FROM {done_lines:Identifier}))
    > 0
LIMIT 1
