-- One row is one value of a dimension in the last week of the window, the most frequent first.
SELECT value
FROM request_dimensions
WHERE dimension = '/* dimension */'
    AND started_hour > greatest($__fromTime, $__toTime - INTERVAL 7 DAY) - INTERVAL 1 HOUR
    AND started_hour <= $__toTime
GROUP BY value
ORDER BY
    sum(requests) DESC,
    value
LIMIT 1000
