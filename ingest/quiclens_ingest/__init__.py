"""From the collector's batches to rows of the store, and from lines and streams to requests."""
