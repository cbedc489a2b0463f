"""What is asked of a store: SQL, statistics, and one document for each answer."""
