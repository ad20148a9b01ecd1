"""Whether the backend that was started in this process can be believed: the guard holds, and JAX still computes right.

To be run in a process of its own, because it compiles, prints and changes settings. Needs the standard library and jax
alone; NumPy is the judge.
"""

import contextlib
import io
import logging
import math
import warnings
from collections.abc import Callable, Mapping, Sequence

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
from jax import lax
from jax.experimental import io_callback

REFUSED = "Disallowed {} transfer"
# Answers of Random123's own tests for threefry2x32 with 20 rounds: key, counter, result.
THREEFRY = (
    ((0, 0), (0, 0), (0x6B200159, 0x99BA4EFE)),
    ((0xFFFFFFFF, 0xFFFFFFFF), (0xFFFFFFFF, 0xFFFFFFFF), (0x1CB996FC, 0xBB002BE7)),
    ((0x13198A2E, 0x03707344), (0x243F6A88, 0x85A308D3), (0xC4923A9C, 0x483DF7A0)),
)
# One after the other on each element; NumPy's name where it differs. A plugin was seen whose atan was wrong.
UNARY = {
    "atan": "arctan",
    "asin": "arcsin",
    "acos": "arccos",
    "asinh": "arcsinh",
    "atanh": "arctanh",
    "sin": "sin",
    "cos": "cos",
    "tan": "tan",
    "sinh": "sinh",
    "cosh": "cosh",
    "tanh": "tanh",
    "exp": "exp",
    "expm1": "expm1",
    "exp2": "exp2",
    "cbrt": "cbrt",
    "floor": "floor",
    "round": "round",
    "sign": "sign",
}
# Enough where a compiler's double-precision code is not in question.
FEW = ("atan", "asin", "acosh", "sin", "cos", "tanh", "exp", "cbrt", "log")
POSITIVE = {"log": "log", "log1p": "log1p", "log2": "log2", "sqrt": "sqrt", "acosh": "arccosh"}
# XLA fails on an older jaxlib, also on its plain CPU.
CALLBACKS_TAKE_INT4 = (0, 8)
# JAX leaves these without types.
_ready: Callable[[jax.Array], jax.Array] = jax.block_until_ready
_effects: Callable[[], None] = jax.effects_barrier
_configure: Callable[[str, object], None] = jax.config.update
_shape: Callable[[tuple[int, ...], object], object] = jax.ShapeDtypeStruct
_partition: Callable[[str], jax.sharding.PartitionSpec] = jax.sharding.PartitionSpec

_random = np.random.RandomState(0)
MATRIX = _random.uniform(-1, 1, (6, 6)).astype(np.float32)
DEFINITE = (MATRIX @ MATRIX.T + 6 * np.eye(6)).astype(np.float32)


def run() -> dict[str, str]:
    """Name of each check -> nothing if it is right, otherwise what is wrong, in one line."""
    return {name: _outcome(check) for name, check in CHECKS.items()}


def _outcome(check: Callable[[], None]) -> str:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            check()
    except Exception as error:
        # What JAX says of a failed callback carries a traceback: the last line says the most.
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        return f"{type(error).__name__}: {lines[-1]}"[:300] if lines else type(error).__name__
    return ""


def _fresh() -> jax.Array:
    return _ready(jnp.arange(8, dtype=jnp.float32) + 1)


def _require(right: object, message: str) -> None:
    if not right:
        raise ValueError(message)


def _close(got: object, expected: object, tolerance: float = 1e-4) -> None:
    got, expected = np.asarray(jax.device_get(got)), np.asarray(expected)
    _require(got.shape == expected.shape, f"shape {got.shape} instead of {expected.shape}")
    error = np.max(np.abs(got - expected) / (1 + np.abs(expected)), initial=0)
    _require(error <= tolerance, f"off by {error:.1e}")


def _must_be_refused(task: Callable[[], object], direction: str, what: str) -> None:
    guard: Callable[[str], contextlib.AbstractContextManager[None]]
    guard = getattr(jax, f"transfer_guard_{direction.replace('-', '_')}")
    try:
        with guard("disallow"):
            task()
    except RuntimeError as error:
        _require(
            REFUSED.format(direction) in str(error), f"{what} raised {type(error).__name__}, not the guard's error"
        )
    else:
        raise ValueError(f"{what} was not refused")


def _fetches_are_refused() -> None:
    x = _fresh()
    _must_be_refused(lambda: np.asarray(x), "device-to-host", "numpy.asarray of a device array")
    _close(x, np.arange(8) + 1)


def _strings_are_refused() -> None:
    x, scalar = _fresh(), _ready(jnp.float32(2) + 1)
    _must_be_refused(lambda: str(x), "device-to-host", "str of a device array")
    _must_be_refused(lambda: float(scalar), "device-to-host", "float of a device array")


def _computed_arrays_are_refused() -> None:
    double = jax.jit(lambda x: x * 2)
    double(_fresh())
    x = double(_fresh())
    _must_be_refused(lambda: np.asarray(x), "device-to-host", "numpy.asarray of a compiled function's result")


def _explicit_fetches_pass() -> None:
    x = _fresh()
    with jax.transfer_guard_device_to_host("disallow"):
        got = jax.device_get(x)
    _require(isinstance(got, np.ndarray), f"device_get gave a {type(got).__name__}")
    _close(got, np.arange(8) + 1)


def _second_fetches_are_free() -> None:
    x = _fresh()
    jax.device_get(x)
    with jax.transfer_guard_device_to_host("disallow"):
        _close(np.asarray(x), np.arange(8) + 1)


def _devices_are_crossed_under_guard() -> None:
    if jax.device_count() < 2:
        return
    here, there = _fresh(), _ready(jax.device_put(np.ones(8, np.float32), jax.devices()[1]))
    # The first call of a function is judged; JAX does not ask again on later ones.
    add = jax.jit(lambda a, b: a + b * 3)
    _must_be_refused(lambda: add(here, there), "device-to-device", "an array of another device")
    with jax.transfer_guard_device_to_device("disallow"):
        moved = jax.device_put(here, jax.devices()[1])
    _close(moved, np.arange(8) + 1)


def _linear_algebra() -> None:
    def all_of_it(a: jax.Array, s: jax.Array) -> Sequence[object]:
        solver = jnp.linalg
        return solver.cholesky(s), solver.eigh(s), solver.qr(a), solver.solve(s, a), solver.svd(a), solver.det(s)

    made = jax.device_get(jax.jit(all_of_it)(MATRIX, DEFINITE))
    factor, (values, vectors), (q, r), solution, (u, w, vh), determinant = made
    _close(factor, np.linalg.cholesky(DEFINITE), 1e-3)
    _close(values, np.linalg.eigh(DEFINITE)[0], 1e-3)
    _close(vectors * values @ vectors.T, DEFINITE, 1e-3)
    _close(q @ r, MATRIX, 1e-3)
    _close(DEFINITE @ solution, MATRIX, 1e-3)
    _close(u * w @ vh, MATRIX, 1e-3)
    _close(determinant, np.linalg.det(DEFINITE), 1e-3)


def _general_eigenvalues() -> None:
    got = jax.device_get(jnp.linalg.eigvals(MATRIX))
    _close(np.sort_complex(got), np.sort_complex(np.linalg.eigvals(MATRIX)), 1e-3)


def _fourier() -> None:
    _close(jnp.fft.fft2(jnp.asarray(MATRIX)), np.fft.fft2(MATRIX), 1e-3)
    _close(jnp.fft.irfft(jnp.fft.rfft(jnp.asarray(MATRIX))), MATRIX, 1e-3)


def _random_bits() -> None:
    from jax.extend.random import threefry_2x32

    for key, counter, expected in THREEFRY:
        got = threefry_2x32(np.array(key, np.uint32), np.array(counter, np.uint32))
        _require(jax.device_get(got).tolist() == list(expected), f"threefry of {counter} with {key} is wrong")
    normal = jax.device_get(jax.random.normal(jax.random.key(7), (2000,)))
    _require(abs(normal.mean()) < 0.1 and abs(normal.std() - 1) < 0.1, "normal numbers are not normal")


def _debug_print() -> None:
    written = io.StringIO()
    with contextlib.redirect_stdout(written):

        @jax.jit
        def total(x: jax.Array) -> jax.Array:
            jax.debug.print("total {t}", t=x.sum(), ordered=True)
            return x

        _ready(total(_fresh()))
        _effects()
    _require(written.getvalue() == "total 36.0\n", f"printed {written.getvalue()!r}")


def _pure_callback() -> None:
    shape = _shape((8,), np.float32)
    _close(jax.jit(lambda x: jax.pure_callback(np.sin, shape, x) + 1)(_fresh()), np.sin(np.arange(8) + 1.0) + 1)
    if jax.__version_info__ < CALLBACKS_TAKE_INT4:
        return
    four = jnp.arange(-8, 8).astype(jnp.int4)
    same = jax.jit(lambda x: jax.pure_callback(lambda y: y, _shape(x.shape, x.dtype), x))(four)
    _close(same.astype(jnp.int32), np.arange(-8, 8))


def _io_callback() -> None:
    seen: list[float] = []

    def note(x: np.ndarray) -> object:
        seen.append(float(np.sum(x)))
        return np.float32(len(seen))

    @jax.jit
    def count(x: jax.Array) -> jax.Array:
        shape = _shape((), np.float32)
        total: jax.Array = jnp.float32(0)
        for i in range(3):
            total += io_callback(note, shape, x + i, ordered=True)
        return total

    _close(count(_fresh()), 6)
    _require(seen == [36.0, 44.0, 52.0], f"called with {seen}")


def _failing_callback() -> None:
    def fail(x: np.ndarray) -> np.ndarray:
        raise LookupError("as intended")

    # JAX also logs the traceback.
    logging.disable(logging.CRITICAL)
    try:
        _ready(jax.jit(lambda x: jax.pure_callback(fail, x, x))(_fresh()))
    except Exception as error:
        _require("as intended" in str(error), "the error of a callback was lost")
    else:
        raise ValueError("the error of a callback was lost")
    finally:
        logging.disable(logging.NOTSET)


def _elementwise(dtype: str, tolerance: float, few: Sequence[str] = ()) -> None:
    unary = {name: other for name, other in UNARY.items() if not few or name in few}
    positives = {name: other for name, other in POSITIVE.items() if not few or name in few}
    points = np.concatenate([np.linspace(-0.99, 0.99, 37), _random.uniform(-1, 1, 91)]).astype(dtype)
    positive = np.abs(points) + np.asarray(1.001, dtype)

    @jax.jit
    def all_of_them(x: jax.Array, p: jax.Array) -> Sequence[jax.Array]:
        made = [getattr(jnp, name)(x) for name in unary] + [getattr(jnp, name)(p) for name in positives]
        return [*made, jnp.arctan2(x, p), jnp.power(p, x), x / p, x @ p, lax.erf(x), lax.rsqrt(p)]

    expected = [getattr(np, name)(points) for name in unary.values()]
    expected += [getattr(np, name)(positive) for name in positives.values()]
    expected += [np.arctan2(points, positive), np.power(positive, points), points / positive, points @ positive]
    expected += [np.vectorize(math.erf)(points), 1 / np.sqrt(positive)]
    names = [*unary, *positives, "arctan2", "power", "divide", "dot", "erf", "rsqrt"]
    for name, got, right in zip(names, jax.device_get(all_of_them(points, positive)), expected, strict=True):
        _require(got.dtype == dtype, f"{name} gave {got.dtype}")
        try:
            _close(got, right, tolerance)
        except ValueError as error:
            raise ValueError(f"{name} in {dtype}: {error}") from None


def _float32() -> None:
    _elementwise("float32", 2e-5, FEW)


def _float64() -> None:
    before = getattr(jax.config, "jax_enable_x64")  # noqa: B009 it has no type
    _configure("jax_enable_x64", True)
    try:
        _elementwise("float64", 1e-12)
        wide = DEFINITE.astype(np.float64)
        _close(jnp.linalg.cholesky(wide), np.linalg.cholesky(wide), 1e-12)
        _close(jnp.arange(3) + 2**40, np.arange(3) + 2**40)
    finally:
        _configure("jax_enable_x64", before)


def _bfloat16() -> None:
    narrow = MATRIX.astype(ml_dtypes.bfloat16)
    got = jax.device_get(jax.jit(lambda x: (x + x, x @ x))(narrow))
    _require(got[0].dtype == narrow.dtype, f"bfloat16 became {got[0].dtype}")
    _close(got[0].astype(np.float32), 2 * narrow.astype(np.float32), 1e-6)
    _close(got[1].astype(np.float32), narrow.astype(np.float32) @ narrow.astype(np.float32), 3e-2)


def _donation() -> None:
    x = _fresh()
    # A donation that is not used is a warning, and warnings are errors here.
    _close(jax.jit(lambda y: y + 1, donate_argnums=0)(x), np.arange(8) + 2)
    _require(x.is_deleted(), "a donated array is still there")


def _control_flow() -> None:
    @jax.jit
    def all_of_it(x: jax.Array, n: jax.Array) -> Sequence[jax.Array]:
        return (
            lax.cond(n > 2, lambda y: y + 1, lambda y: y - 1, x),
            lax.switch(n, [lambda y: y, lambda y: y * 2, lambda y: y * 3, lambda y: y * 4], x),
            lax.while_loop(lambda c: c[0] < n, lambda c: (c[0] + 1, c[1] * 2), (0, x))[1],
            lax.scan(lambda c, y: (c + y, c * y), jnp.float32(0), x)[1],
            jax.grad(lambda y: jnp.sum(jnp.sin(y) ** 2))(x),
            jnp.sort(x[::-1]) + jnp.argsort(-x),
        )

    x = np.arange(8, dtype=np.float32) + 1
    branch, choice, repeated, scanned, slope, ordered = all_of_it(_fresh(), jnp.int32(3))
    _close(branch, x + 1)
    _close(choice, x * 4)
    _close(repeated, x * 8)
    _close(scanned, (np.cumsum(x) - x) * x)
    _close(slope, np.sin(2 * x))
    _close(ordered, x + np.arange(8)[::-1])


def _sharding() -> None:
    devices = jax.devices()[:2]
    mesh = jax.sharding.Mesh(np.array(devices), ("a",))
    rows = jax.sharding.NamedSharding(mesh, _partition("a"))
    x = jax.device_put(np.arange(8, dtype=np.float32), rows)
    _require(len(x.addressable_shards) == len(devices), "an array has not a part on each device")
    _close(jax.jit(lambda y: (y * 2).sum())(x), 56)
    _must_be_refused(lambda: np.asarray(x + x), "device-to-host", "numpy.asarray of a sharded array")


CHECKS: Mapping[str, Callable[[], None]] = {
    "fetch": _fetches_are_refused,
    "string": _strings_are_refused,
    "computed": _computed_arrays_are_refused,
    "explicit fetch": _explicit_fetches_pass,
    "second fetch": _second_fetches_are_free,
    "device to device": _devices_are_crossed_under_guard,
    "sharding": _sharding,
    "linear algebra": _linear_algebra,
    "eigenvalues": _general_eigenvalues,
    "fourier": _fourier,
    "random bits": _random_bits,
    "debug print": _debug_print,
    "pure callback": _pure_callback,
    "io callback": _io_callback,
    "failing callback": _failing_callback,
    "float32": _float32,
    "float64": _float64,
    "bfloat16": _bfloat16,
    "donation": _donation,
    "control flow": _control_flow,
}
