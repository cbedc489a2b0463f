"""ClickHouse's HTTP interface over the embedded engine, and the process that holds a store."""
