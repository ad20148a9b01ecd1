"""The smallest program with a hot finding, for tests of what goes on around the analysis."""

LOOP = """import jax

@jax.jit
def step(x):
    return x + 1

def train(x):
    for _ in range(9):
        x = step(x)
        print(x)
"""
