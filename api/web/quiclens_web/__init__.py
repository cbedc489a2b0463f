"""Pages and the JSON API, and what stands before them: who may come in, limits, failures."""
