"""`quiclens-lab stock-servers`: are servers as they are understood? The proof is the tests that run them.

A Caddy and an Envoy from their own packages (`api/tests`), and the lab's servers of quiche, quic-go, aioquic and quinn
on those libraries as published (`lab/tests/test_servers_live.py`): each is asked over HTTP/3, followed live, and its
requests are looked for. This runs those tests, reads what they found, and keeps it with commit and machine. A test that
is skipped is missed as one that fails is. stdout is one JSON document; exit 1 where a server is missed.
"""
