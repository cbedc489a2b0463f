-- One row is one stretch of time: the first congestion window, and the most bytes in flight, by connection.
SELECT
    $__timeInterval(assumeNotNull(started_at)) AS time,
    quantileExactWeighted(0.5)(initial_congestion_window, millionths) AS initial_congestion_window_p50,
    quantileExactWeighted(0.5)(bytes_in_flight_max, millionths) AS bytes_in_flight_max_p50,
    if(count() >= 20, quantileExactWeighted(0.95)(bytes_in_flight_max, millionths), NULL) AS bytes_in_flight_max_p95
FROM (/* connections.sql */)
GROUP BY time
ORDER BY time
