-- One row is one slow request: it ended, and took at least as long as the chosen quantile. Written into others.
SELECT *
FROM (/* requests.sql */)
WHERE complete
    AND duration_us >= (SELECT quantileExactIf(${slow:raw})(duration_us, complete) FROM (/* requests.sql */))
