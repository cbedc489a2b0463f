-- One row is one slow request: it ended well, and took at least as long as the chosen quantile. Written into others.
SELECT *
FROM (/* requests.sql */)
WHERE is_measured
    AND duration_us >= (SELECT quantileExactWeightedIf(${slow:raw})(duration_us, millionths, is_measured) FROM (/* requests.sql */))
