"""What stands before every door: connections, TLS, who may come in, limits, failures, metrics."""
