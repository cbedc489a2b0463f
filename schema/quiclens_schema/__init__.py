"""The contract of quiclens: names, types, identities, and the only door to the store."""
