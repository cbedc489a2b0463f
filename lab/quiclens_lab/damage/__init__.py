"""What damage to a log does to the answers that the collector gives."""
