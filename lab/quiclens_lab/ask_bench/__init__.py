"""How long people wait for answers about a store with a month in it."""
