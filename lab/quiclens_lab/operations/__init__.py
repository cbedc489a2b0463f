"""What operators of an edge look for, planted: misrouted packets, restarts, and QUIC racing TCP."""
