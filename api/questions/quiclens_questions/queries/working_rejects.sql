-- One row is one reason: what could not become a row and was stored since then, and one of the files.
SELECT
    reason,
    uniqExact(source, offset, hash) AS rejects,
    min(file) AS a_file
FROM rejects
WHERE ingested_at >= {since:DateTime64(6, 'UTC')}
GROUP BY reason
ORDER BY
    rejects DESC,
    reason
LIMIT {limit:UInt32}
