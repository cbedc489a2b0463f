"""Real QUIC stacks over a simulated network in virtual time."""
