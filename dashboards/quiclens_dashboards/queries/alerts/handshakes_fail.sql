-- One row: by how many standard errors the share of handshakes that are not complete has grown; no row where too few connections say.
SELECT standard_errors
FROM (/* alerts/worse_connections.sql */)
WHERE what = 'handshakes'
LIMIT 1
