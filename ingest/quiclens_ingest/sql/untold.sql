-- One row: whether a line means no one stream, so that it is a request of its own.
SELECT count() > 0
FROM {lines:Identifier}
WHERE (log_id, offset) NOT IN (SELECT log_id, offset FROM {pairs:Identifier} WHERE NOT is_ambiguous)
LIMIT 1
