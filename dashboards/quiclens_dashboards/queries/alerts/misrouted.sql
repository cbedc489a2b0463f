-- One row: of the packets that hosts received in the window, the share whose connection ID names another host; no row where no
-- host counts what it receives.
SELECT wrong_host_share
FROM (/* edge_operations/hosts.sql */)
WHERE received > 0
LIMIT 1
