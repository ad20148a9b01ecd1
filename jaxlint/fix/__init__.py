"""The use `fix`: findings repaired in their files; with a program to run, only where the run proves it."""
