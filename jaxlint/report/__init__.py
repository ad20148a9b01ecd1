"""Reports: findings as text for people and machines, one module a format, each with one function `render`."""
