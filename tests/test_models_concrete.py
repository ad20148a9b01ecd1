"""What traced code may ask for: calls that need the value of an argument fail on a tracer, in JAX and in a check."""

import warnings

import pytest

from snippets import PRELUDE, check

jax = pytest.importorskip("jax")

CALLS = [
    ("jnp.ravel_multi_index((i, i), s)", "i, s", "1, (2, 3)"),
    ("jnp.ravel_multi_index((i, i), s, mode='clip')", "i, s", "1, (2, 3)"),
    ("jnp.linspace(0, 1, n)", "n", "3"),
    ("jnp.arange(n)", "n", "3"),
    ("jnp.roll(x, n)", "x, n", "jnp.ones(3), 1"),
    ("jnp.roll(x, 1, axis=n)", "x, n", "jnp.ones(3), 0"),
    ("jnp.take(x, 1, axis=n)", "x, n", "jnp.ones(3), 0"),
    ("jax.nn.one_hot(x, n)", "x, n", "1, 3"),
    ("jnp.repeat(x, n, total_repeat_length=6)", "x, n", "jnp.ones(3), 2"),
    ("jnp.full((n,), 1)", "n", "3"),
    ("jnp.eye(n)", "n", "3"),
    ("jnp.tril(x, n)", "x, n", "jnp.ones((3, 3)), 0"),
    ("jnp.diag(x, n)", "x, n", "jnp.ones((3, 3)), 0"),
    ("jnp.rot90(x, n)", "x, n", "jnp.ones((3, 3)), 1"),
    ("jnp.split(x, n)", "x, n", "jnp.ones(4), 2"),
    ("jnp.expand_dims(x, n)", "x, n", "jnp.ones(4), 0"),
    ("jnp.clip(x, n, 2)", "x, n", "jnp.ones(4), 0"),
    ("jnp.quantile(x, n)", "x, n", "jnp.ones(4), 0.5"),
    ("jnp.round(x, n)", "x, n", "jnp.ones(4), 1"),
    ("jnp.linalg.matrix_power(x, n)", "x, n", "jnp.ones((3, 3)), 2"),
    ("jnp.tile(x, n)", "x, n", "jnp.ones((3, 3)), 2"),
    ("jnp.pad(x, n)", "x, n", "jnp.ones((3, 3)), 2"),
    ("jnp.pad(x, 1, constant_values=n)", "x, n", "jnp.ones((3, 3)), 2"),
    ("jnp.sort(x, axis=n)", "x, n", "jnp.ones((3, 3)), 0"),
    ("jnp.swapaxes(x, n, 1)", "x, n", "jnp.ones((3, 3)), 0"),
    ("jnp.vander(x, n)", "x, n", "jnp.ones(3), 2"),
    ("jnp.diff(x, n)", "x, n", "jnp.ones(3), 1"),
    ("jax.lax.top_k(x, n)", "x, n", "jnp.ones(3), 2"),
    ("jnp.searchsorted(x, n)", "x, n", "jnp.ones(3), 2"),
    ("jnp.bincount(x, length=n)", "x, n", "jnp.array([1, 2]), 3"),
    ("jax.random.fold_in(jax.random.key(0), n)", "n", "3"),
    ("jax.random.PRNGKey(n)", "n", "3"),
    ("jax.random.split(jax.random.key(0), n)", "n", "3"),
    ("jax.random.randint(jax.random.key(0), (3,), 0, n)", "n", "3"),
    ("jax.random.choice(jax.random.key(0), n, (2,))", "n", "3"),
    ("jax.random.permutation(jax.random.key(0), n)", "n", "3"),
    ("jnp.polyfit(jnp.arange(4.0), jnp.arange(4.0), n)", "n", "2"),
    ("jax.lax.dynamic_slice(x, (n,), (2,))", "x, n", "jnp.ones(4), 1"),
    ("jax.lax.dynamic_slice(x, (0,), (n,))", "x, n", "jnp.ones(4), 1"),
    ("jax.lax.fori_loop(0, n, lambda i, c: c + i, 0)", "n", "3"),
    ("jax.lax.scan(lambda c, _: (c, None), 0, None, length=n)[0]", "n", "3"),
    ("jax.lax.switch(n, [lambda: 1, lambda: 2])", "n", "1"),
    ("jnp.logspace(0, 1, n)", "n", "3"),
    ("jnp.logspace(0, 1, 3, base=n)", "n", "3.0"),
    ("jnp.insert(x, n, 1)", "x, n", "jnp.ones(3), 1"),
    ("jnp.delete(x, n)", "x, n", "jnp.ones(3), 1"),
    ("jnp.trapezoid(jnp.ones(3), dx=n)", "n", "1.0"),
    ("jnp.histogram(jnp.ones(3), bins=n)", "n", "3"),
    ("jnp.kaiser(3, n)", "n", "1.0"),
    ("jnp.hamming(n)", "n", "3"),
    ("jnp.nanquantile(x, n)", "x, n", "jnp.ones(4), 0.5"),
    ("jnp.percentile(x, n, axis=0)", "x, n", "jnp.ones(4), 50.0"),
    ("jnp.moveaxis(x, n, 0)", "x, n", "jnp.ones((2, 2)), 1"),
    ("jnp.unpackbits(x, count=n)", "x, n", "jnp.ones(2, jnp.uint8), 4"),
    ("jnp.nonzero(x, size=n)", "x, n", "jnp.ones(2), 2"),
    ("jnp.unique(x, size=n)", "x, n", "jnp.ones(2), 2"),
    ("jnp.fft.fft(x, n)", "x, n", "jnp.ones(4), 4"),
    ("jnp.fft.fftfreq(4, d)", "n, d", "4, 1.0"),
    ("jax.ops.segment_sum(x, jnp.array([0, 1, 1]), n)", "x, n", "jnp.ones(3), 2"),
    ("jax.lax.iota(jnp.int32, n)", "n", "3"),
    ("jnp.linalg.norm(x, n)", "x, n", "jnp.ones(3), 2"),
    ("jnp.linalg.norm(x, n)", "x, n", "jnp.ones((3, 3)), 2"),
    ("jax.nn.softmax(x, n)", "x, n", "jnp.ones(3), 0"),
    ("jax.nn.gelu(x, n)", "x, n", "jnp.ones(3), True"),
    ("jax.nn.leaky_relu(x, n)", "x, n", "jnp.ones(3), 0.1"),
    ("jax.random.uniform(jax.random.key(0), (3,), maxval=n)", "n", "3.0"),
    ("jax.random.gamma(jax.random.key(0), n)", "n", "3.0"),
    ("jax.random.categorical(jax.random.key(0), jnp.ones(3), shape=(n,))", "n", "3"),
    ("jax.lax.cond(n, lambda: 1, lambda: 2)", "n", "True"),
    ("jnp.mean(x, axis=n)", "x, n", "jnp.ones((3, 3)), 0"),
    ("jnp.allclose(x, x, rtol=n)", "x, n", "jnp.ones((3, 3)), 0.1"),
    ("jnp.where(x, size=n)", "x, n", "jnp.ones(3), 2"),
    ("jnp.cross(x, x, axis=n)", "x, n", "jnp.ones((3, 3)), 0"),
    ("x.reshape(n, -1)", "x, n", "jnp.ones((3, 3)), 3"),
    ("x[n]", "x, n", "jnp.ones((3, 3)), 1"),
    ("x[:n]", "x, n", "jnp.ones((3, 3)), 1"),
]
"""An expression, the parameters of the compiled function around it, and what that is called with."""

NOT_SAID = {
    "jnp.ravel_multi_index((i, i), s, mode='clip')": "the sizes are asked only where no mode is given",
    "jax.random.choice(jax.random.key(0), n, (2,))": "an array to choose from may be a tracer, a number may not",
    "jax.random.permutation(jax.random.key(0), n)": "likewise",
    "jax.lax.scan(lambda c, _: (c, None), 0, None, length=n)[0]": "the length is not modelled",
    "jnp.histogram(jnp.ones(3), bins=n)": "edges may be tracers, a number of bins may not",
    "jnp.unpackbits(x, count=n)": "the count is not modelled",
}
"""Calls that fail and of which a check says nothing, and why."""


def fails(call: str, parameters: str, arguments: str) -> bool:
    names = {"jax": jax, "jnp": jax.numpy}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of what a later version will not do any more
            eval(f"jax.jit(lambda {parameters}: {call})({arguments})", names)  # the table above
    except (TypeError, ValueError, IndexError):  # of which the errors of jax.errors are kinds
        return True
    return False


@pytest.mark.parametrize(("call", "parameters", "arguments"), CALLS)
def test_what_fails_on_a_tracer_is_said_to(call: str, parameters: str, arguments: str) -> None:
    report = check(f"{PRELUDE}jax.jit(lambda {parameters}: {call})({arguments})\n")
    said = any(f.code.startswith("JT4") for f in report.findings)
    assert said == (fails(call, parameters, arguments) and call not in NOT_SAID)
