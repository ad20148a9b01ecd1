"""What runs in the interpreter of the checked program: standard library and jax only, never the rest of jaxlint."""
