-- One row: how many values one column has among the requests that slow_by.sql lists.
SELECT count()
FROM
(
    SELECT /* column */ AS by_value
    FROM requests
    WHERE ifNull(duration_us, 0) >= {min_us:UInt64}
        AND (/* in_window.sql */)
    /* conditions */
    GROUP BY by_value
)
