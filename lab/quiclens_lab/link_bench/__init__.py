"""`quiclens-lab link-bench`: what linking costs in a store with a month behind it."""
