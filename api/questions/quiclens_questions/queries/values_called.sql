-- One row is one value of one dimension of the last week's requests that has these letters in it, the ones that are nothing
-- else first, and then those with most requests.
SELECT
    dimension,
    value,
    sum(requests) AS requests
FROM request_dimensions
WHERE started_hour > (SELECT max(started_hour) FROM dimension_versions) - INTERVAL 7 DAY
    AND positionCaseInsensitiveUTF8(value, {text:String}) > 0
GROUP BY
    dimension,
    value
ORDER BY
    lowerUTF8(value) = lowerUTF8({text:String}) DESC,
    requests DESC,
    dimension,
    value
LIMIT {limit:UInt32}
