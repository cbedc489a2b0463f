"""How old data are when they can be asked for: the live system under a given rate, beside a plain pipeline."""
