"""Source files: which ones, their bytes as text, text as syntax tree, places, comments and notebooks. Knows no rule."""
