"""The ClickHouse HTTP interface over the embedded store."""
