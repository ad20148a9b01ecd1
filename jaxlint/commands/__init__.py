"""The commands: each takes typed data, prints its result and returns the exit status."""
