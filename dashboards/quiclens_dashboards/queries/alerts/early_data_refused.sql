-- One row: by how many standard errors the share of 0-RTT that is rejected has grown; no row where too few connections say.
SELECT standard_errors
FROM (/* alerts/worse_connections.sql */)
WHERE what = 'zero_rtt'
LIMIT 1
