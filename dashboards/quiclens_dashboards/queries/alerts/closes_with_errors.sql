-- One row: by how many standard errors the share of connections that end with an error or a stateless reset has grown; no row where too few connections say.
SELECT standard_errors
FROM (/* alerts/worse_connections.sql */)
WHERE what = 'closes'
LIMIT 1
