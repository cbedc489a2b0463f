"""Coverage-guided fuzzing: the targets of `collectors/fuzz` and of the Python surfaces, run, resumed and counted."""
