"""jaxlint: a linter for implicit host/device transfers in JAX programs."""

__version__ = "0.1.0"
