"""The runtime pass: runs the user's program with the witness in it, and gives each finding a verdict."""
