"""One module per command: its options, its help, its exit code."""
