"""The command `quiclens`."""
