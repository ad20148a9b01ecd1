"""The abstract interpreter: source in, sites out. `run` is its one door; rules are unknown here."""
