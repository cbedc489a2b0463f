-- One row is one value of a dimension in the last day of the window, the most frequent first.
SELECT /* dimension */
FROM requests
WHERE started_hour > greatest($__fromTime, $__toTime - INTERVAL 1 DAY) - INTERVAL 1 HOUR
    AND started_hour <= $__toTime
    AND /* dimension */ IS NOT NULL
GROUP BY /* dimension */
ORDER BY
    count() DESC,
    /* dimension */
LIMIT 1000
