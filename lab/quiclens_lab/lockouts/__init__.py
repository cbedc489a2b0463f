"""`quiclens-lab lockouts`: who is locked out says so, and goes on when it is let in again.

Collector, `quiclens ingest` and `quiclens serve` run as an installation has them: a real broker behind TLS, SCRAM and
ACLs, the store behind TLS and a token, every secret a file. In each round one of them is locked out: a right that is
granted late, a password that is wrong, a certificate of an authority that nobody knows, a store, a broker or topics
that are away. `/healthz` of who is locked out must be 503 within a minute; after the lock is mended, and nothing
started again, a log that was written meanwhile must be stored within 30 s. stdout is one JSON document; exit 1 where
one of these is missed. A round that breaks is missed, and the others count.
"""
