-- One row: whether nobody took the lease since, and it has so many seconds left. Written into others.
SELECT max(fence) = {fence:UInt64} AND maxIf(expires_at, fence = {fence:UInt64}) > now64(6) + toIntervalSecond({margin:UInt32})
FROM link_leases
