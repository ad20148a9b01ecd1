# JAX leaves many of its functions without types:
# mypy: disallow-untyped-calls=False, warn-return-any=False
"""What JAX programs do, feature by feature, to compare the backend `virtual` with the plain CPU: run in a child process
with the backend's name as the argument, this writes {feature: what it gave} as one JSON line.

A feature gives arrays, numbers and strings in lists; an error is an answer, too.
"""

import contextlib
import functools
import io
import json
import os
import pickle
import sys
import tempfile
import threading
import warnings
from collections.abc import Callable, Iterator

import jax
import jax.numpy as jnp
import jax.scipy.linalg
import jax.scipy.special
import ml_dtypes
import numpy as np
from jax import lax
from jax.experimental import checkify, io_callback
from jax.sharding import Mesh, NamedSharding, PartitionSpec, SingleDeviceSharding

FEATURES: dict[str, Callable[[], object]] = {}
random = np.random.RandomState(0)
A = random.randn(6, 6).astype(np.float32)
S = (A @ A.T + 6 * np.eye(6)).astype(np.float32)
B = random.randn(6, 2).astype(np.float32)


def feature(function: Callable[[], object]) -> Callable[[], object]:
    FEATURES[function.__name__] = function
    return function


def encoded(value: object) -> object:
    """Dtypes and shapes exactly, numbers to be compared with a tolerance."""
    if isinstance(value, dict):
        return {key: encoded(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [encoded(part) for part in value]
    if isinstance(value, jax.Array | np.ndarray | np.generic):
        array = np.asarray(jax.device_get(value))
        if array.dtype.kind == "T":
            return array.tolist()
        wide = array.astype(np.complex128 if array.dtype.kind == "c" else np.float64)
        return {
            "dtype": str(array.dtype),
            "shape": list(array.shape),
            "values": wide.reshape(-1).view(np.float64).tolist(),
        }
    return value


@contextlib.contextmanager
def wide() -> Iterator[None]:
    jax.config.update("jax_enable_x64", True)
    try:
        yield
    finally:
        jax.config.update("jax_enable_x64", False)


def mesh() -> Mesh:
    return Mesh(np.array(jax.devices()[:4]), ("x",))


def rows() -> NamedSharding:
    return NamedSharding(mesh(), PartitionSpec("x"))


def printed(task: Callable[[], object]) -> str:
    written = io.StringIO()
    with contextlib.redirect_stdout(written):
        jax.block_until_ready(task())
        jax.effects_barrier()
    return written.getvalue()


@feature
def elementwise() -> object:
    return [
        jnp.exp(A) + jnp.sin(A),
        jnp.tanh(A),
        jnp.sqrt(jnp.abs(A)),
        jnp.arctan2(A, B[:, :1]),
        jnp.round(A, 2),
        A % 0.3,
    ]


@feature
def integers() -> object:
    x = jnp.arange(-8, 8, dtype=jnp.int8)
    return [x * x, x // 3, x % 3, x << 1, x >> 1, x ^ 5, lax.population_count(x), jnp.uint8(200) + x.astype(jnp.uint8)]


@feature
def products() -> object:
    return [
        A @ S,
        jnp.einsum("ij,kj->ik", A, S),
        jnp.tensordot(A, B, 1),
        lax.dot(A, S, precision="highest"),
        jnp.vdot(A, S),
    ]


@feature
def convolution() -> object:
    x, k = jnp.asarray(random_of((1, 8, 8, 3))), jnp.asarray(random_of((3, 3, 3, 4)))
    return lax.conv_general_dilated(x, k, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))


def random_of(shape: tuple[int, ...]) -> np.ndarray:
    return np.random.RandomState(1).randn(*shape).astype(np.float32)


@feature
def ordering() -> object:
    return [
        jnp.sort(A, 0),
        jnp.argsort(A[0]),
        lax.top_k(A[1], 3),
        jnp.unique(jnp.round(A)),
        jnp.searchsorted(jnp.sort(A[0]), 0.1),
    ]


@feature
def indexing() -> object:
    x = jnp.asarray(A)
    return [x[1:4, ::2], x[jnp.array([0, 3])], x.at[2].add(1.0), x.at[:, 1].set(0), jnp.where(x > 0, x, 0), x[x > 1]]


@feature
def reductions() -> object:
    return [
        jnp.sum(A),
        jnp.max(A, 1),
        jnp.argmax(A),
        jnp.cumsum(A, 0),
        jnp.std(A),
        jnp.any(A > 2),
        jnp.prod(A[0]),
        jnp.median(A),
    ]


@feature
def windows() -> object:
    return [lax.reduce_window(A, -jnp.inf, lax.max, (2, 2), (1, 1), "VALID"), jnp.pad(A, 1), jnp.convolve(A[0], A[1])]


@feature
def random_numbers() -> object:
    key = jax.random.key(0)
    made = [jax.random.normal(key, (5,)), jax.random.uniform(key, (5,)), jax.random.gamma(key, 2.0, (5,))]
    return [
        *made,
        jax.random.permutation(key, 10),
        jax.random.categorical(key, jnp.zeros((4, 5))),
        jax.random.bits(key, (4,)),
    ]


@feature
def random_generators() -> object:
    old, hardware = jax.random.PRNGKey(3), jax.random.key(0, impl="rbg")
    return [
        jax.random.split(old, 3),
        jax.random.key_data(jax.random.split(hardware)),
        jax.random.randint(old, (4,), 0, 99),
    ]


@feature
def random_matrices() -> object:
    return [
        jax.random.multivariate_normal(jax.random.key(1), jnp.zeros(6), S).shape,
        jax.random.orthogonal(jax.random.key(2), 3).shape,
    ]


@feature
def fourier() -> object:
    return [jnp.fft.fft(A), jnp.fft.rfft2(A), jnp.fft.ifftn(A), jnp.fft.fftshift(A), jnp.fft.irfft(jnp.fft.rfft(A))]


@feature
def cholesky() -> object:
    return [jnp.linalg.cholesky(S), jax.scipy.linalg.cho_solve((jnp.linalg.cholesky(S), True), B)]


@feature
def orthogonal() -> object:
    q, r = jnp.linalg.qr(A)
    return [q @ r, jnp.abs(jnp.diag(r))]


@feature
def solving() -> object:
    return [
        jnp.linalg.solve(S, B),
        jnp.linalg.inv(S),
        jnp.linalg.det(S),
        jnp.linalg.slogdet(A),
        jnp.linalg.lstsq(A, B)[0],
    ]


@feature
def singular_values() -> object:
    u, s, v = jnp.linalg.svd(A, full_matrices=False)
    return [s, (u * s) @ v, jnp.linalg.pinv(A), jnp.linalg.norm(A, 2), jnp.linalg.matrix_rank(A)]


@feature
def eigenvalues() -> object:
    values, vectors = jnp.linalg.eigh(S)
    return [
        values,
        (vectors * values) @ vectors.T,
        jnp.sort(jnp.linalg.eigvals(A).real),
        jnp.sort(jnp.abs(jnp.roots(A[0]))),
    ]


@feature
def schur_and_exponential() -> object:
    t, z = jax.scipy.linalg.schur(A)
    return [z @ t @ z.T, jax.scipy.linalg.expm(A * 0.1), jax.scipy.linalg.sqrtm(S).real]


@feature
def triangular_systems() -> object:
    lower = np.tril(S)
    solved = jax.scipy.linalg.solve_triangular(lower, B, lower=True)
    diagonals = [np.full(6, value, np.float32) for value in (0.5, 4.0, 0.5)]
    diagonals[0][0] = diagonals[2][-1] = 0
    solve: Callable[..., jax.Array] = lax.linalg.tridiagonal_solve
    return [solved, solve(*diagonals, B)]


@feature
def batched_algebra() -> object:
    stack = np.stack([S, S + np.eye(6, dtype=np.float32)])
    return [jnp.linalg.cholesky(stack), jax.vmap(jnp.linalg.inv)(stack), jnp.linalg.eigvalsh(stack)]


@feature
def complex_algebra() -> object:
    z = (S + 1j * np.triu(A, 1) - 1j * np.triu(A, 1).T).astype(np.complex64)
    return [
        jnp.linalg.eigvalsh(z),
        jnp.linalg.cholesky(z),
        jnp.exp(1j * A),
        jnp.linalg.solve(z, B.astype(np.complex64)),
    ]


@feature
def gradient_of_algebra() -> object:
    return [jax.grad(lambda s: jnp.linalg.slogdet(s)[1])(S), jax.grad(lambda s: jnp.linalg.cholesky(s).sum())(S)]


@feature
def special_functions() -> object:
    sp = jax.scipy.special
    return [
        sp.gammaln(np.abs(A) + 1),
        sp.erf(A),
        sp.logsumexp(A),
        sp.betainc(1.0, 2.0, np.abs(A) / 10),
        sp.expit(A),
        sp.i0e(A),
    ]


@feature
def branches() -> object:
    return [
        jax.jit(lambda n: lax.cond(n > 1, lambda: A + 1, lambda: A - 1))(jnp.int32(2)),
        jax.jit(lambda n: lax.switch(n, [lambda: A, lambda: A * 2, lambda: A * 3]))(jnp.int32(1)),
        lax.select(A > 0, A, -A),
    ]


@feature
def loops() -> object:
    return [
        lax.scan(lambda c, x: (c + x, c * x), jnp.zeros(6), A),
        lax.while_loop(lambda c: c[0] < 5, lambda c: (c[0] + 1, c[1] * 2), (0, jnp.float32(1)))[1],
        lax.fori_loop(0, 5, lambda i, c: c + i, jnp.float32(0)),
        lax.map(lambda x: x.sum(), A),
        lax.associative_scan(jnp.add, A),
    ]


@feature
def transformations() -> object:
    f = jax.jit(jax.vmap(jax.value_and_grad(lambda x: jnp.sum(jnp.tanh(x) ** 2))))
    return [f(A), jax.hessian(lambda x: jnp.sum(x**3))(A[0]), jax.jvp(jnp.sin, (A,), (A,)), jax.jacfwd(jnp.cos)(A[0])]


@feature
def custom_derivatives() -> object:
    @jax.custom_vjp
    def square(x: jax.Array) -> jax.Array:
        return x * x

    square.defvjp(lambda x: (x * x, x), lambda kept, g: (g * 2 * kept,))
    return jax.grad(lambda x: jax.checkpoint(square)(x).sum())(jnp.asarray(A))


@feature
def iterative_solvers() -> object:
    from jax.scipy.optimize import minimize
    from jax.scipy.sparse.linalg import cg

    return [cg(lambda x: S @ x, B[:, 0])[0], minimize(lambda x: jnp.sum((x - 1) ** 2), jnp.zeros(3), method="BFGS").x]


@feature
def sparse_arrays() -> object:
    from jax.experimental import sparse

    return sparse.BCOO.fromdense(jnp.diag(jnp.arange(1.0, 5.0))) @ jnp.ones(4)


@feature
def prints() -> object:
    def body(carry: jax.Array, x: jax.Array) -> tuple[jax.Array, None]:
        jax.debug.print("{x}", x=x, ordered=True)
        return carry + x, None

    return [
        printed(lambda: jax.jit(lambda x: (jax.debug.print("sum {s:.3f}", s=x.sum()), x)[1])(A)),
        printed(lambda: jax.jit(lambda x: lax.scan(body, x, jnp.arange(3.0))[0])(jnp.float32(0))),
        sorted(printed(lambda: jax.vmap(jax.grad(lambda x: (jax.debug.print("v {x}", x=x), x**2)[1]))(A[0])).split()),
    ]


@feature
def debug_callbacks() -> object:
    seen: list[float] = []
    function = jax.jit(lambda x: (jax.debug.callback(lambda v: seen.append(float(v)), x.sum()), x)[1])
    jax.block_until_ready(function(A))
    jax.effects_barrier()
    return seen


@feature
def pure_callbacks() -> object:
    def call(x: jax.Array) -> object:
        return jax.pure_callback(np.sin, jax.ShapeDtypeStruct(x.shape, x.dtype), x, vmap_method="sequential")

    made = [jax.jit(call)(A), jax.jit(jax.vmap(call))(A), call(jnp.asarray(A))]
    many = jax.jit(
        lambda x: jax.pure_callback(
            lambda y: (y + 1, y.sum()), (jax.ShapeDtypeStruct((6, 6), x.dtype), jax.ShapeDtypeStruct((), x.dtype)), x
        )
    )
    return [
        *made,
        many(A),
        jax.jit(lambda: jax.pure_callback(lambda: np.float32(3), jax.ShapeDtypeStruct((), np.float32)))(),
    ]


@feature
def callbacks_of_every_type() -> object:
    seen = []

    def note(x: np.ndarray) -> np.ndarray:
        seen.append(f"{type(x).__name__} {x.dtype} {x.shape}")
        return x

    made = []
    for dtype in (
        "bool",
        "int8",
        "uint32",
        "float16",
        "bfloat16",
        "complex64",
        "int4",
        "uint4",
        "int2",
        "float8_e4m3fn",
    ):
        x = jnp.asarray(np.arange(-3, 4).astype(getattr(ml_dtypes, dtype, dtype)))
        made.append(jax.jit(lambda x: jax.pure_callback(note, jax.ShapeDtypeStruct(x.shape, x.dtype), x))(x))
    for shape in ((), (0,), (2, 3), (1, 0, 2)):
        made.append(
            jax.jit(lambda x: jax.pure_callback(note, jax.ShapeDtypeStruct(x.shape, x.dtype), x))(jnp.ones(shape))
        )
    return [[jnp.asarray(x).astype(jnp.complex64) for x in made], seen]


@feature
def io_callbacks() -> object:
    seen: list[float] = []

    def note(x: np.ndarray) -> object:
        seen.append(float(x.sum()))
        return np.float32(len(seen))

    @jax.jit
    def count(x: jax.Array) -> object:
        return [io_callback(note, jax.ShapeDtypeStruct((), np.float32), x + i, ordered=True) for i in range(3)]

    return [count(A), seen]


@feature
def failing_callbacks() -> object:
    def fail(x: np.ndarray) -> np.ndarray:
        raise LookupError("as intended")

    try:
        jax.block_until_ready(jax.jit(lambda x: jax.pure_callback(fail, jax.ShapeDtypeStruct(x.shape, x.dtype), x))(A))
    except Exception as error:  # noqa: BLE001 the class is compared
        return [type(error).__name__, "as intended" in str(error), "CpuCallback error calling callback" in str(error)]
    return "no error"


@feature
def wrong_callbacks() -> object:
    try:
        jax.block_until_ready(
            jax.jit(lambda x: jax.pure_callback(lambda y: y[:2], jax.ShapeDtypeStruct(x.shape, x.dtype), x))(A)
        )
    except Exception as error:  # noqa: BLE001 the class is compared
        return [type(error).__name__, "(2, 6)" in str(error)]
    return "no error"


@feature
def checks() -> object:
    def positive(x: jax.Array) -> jax.Array:
        checkify.check(jnp.all(x > 0), "negative")
        return jnp.log(x)

    error, _ = jax.jit(checkify.checkify(positive))(A)
    return ["negative" in str(error.get())]


@feature
def nan_debugging() -> object:
    jax.config.update("jax_debug_nans", True)
    try:
        jax.block_until_ready(jnp.log(jnp.float32(-1)))
    except FloatingPointError as error:
        return [str(error).split(".")[0]]
    finally:
        jax.config.update("jax_debug_nans", False)
    return "no error"


@feature
def shards() -> object:
    x = jax.device_put(np.arange(8.0, dtype=np.float32), rows())
    replicated = jax.device_put(A, NamedSharding(mesh(), PartitionSpec()))
    return [
        len(x.addressable_shards),
        jax.jit(lambda y: (y * 2).sum())(x),
        x + 1,
        x[2],
        replicated @ replicated,
        np.asarray(x),
    ]


@feature
def collectives() -> object:
    def talk(x: jax.Array) -> jax.Array:
        total = lax.psum(x, "x") + lax.pmean(x, "x")
        gathered = lax.all_gather(x, "x")
        moved = lax.ppermute(x, "x", [(i, (i + 1) % 4) for i in range(4)])
        return (
            total + moved + gathered.sum() + lax.psum_scatter(jnp.tile(x, (4,)), "x", tiled=True) + lax.axis_index("x")
        )

    return jax.jit(jax.shard_map(talk, mesh=mesh(), in_specs=PartitionSpec("x"), out_specs=PartitionSpec("x")))(
        jnp.arange(16.0)
    )


@feature
def parallel_maps() -> object:
    x = np.arange(4.0, dtype=np.float32)
    return [jax.pmap(lambda y: lax.psum(y, "i"), axis_name="i")(x), jax.local_device_count(), jax.process_count()]


@feature
def resharding() -> object:
    x = jax.device_put(np.arange(16.0, dtype=np.float32).reshape(4, 4), rows())
    other = NamedSharding(mesh(), PartitionSpec(None, "x"))
    moved = [jax.device_put(x, other), jax.jit(lambda y: y * 2, out_shardings=other)(x)]
    return [moved, [str(y.sharding.spec) for y in moved], lax.with_sharding_constraint(x, other)]


@feature
def several_devices() -> object:
    one, two = jax.devices()[:2]
    x = jax.device_put(A, one)
    y = jax.device_put(x, two)
    try:
        jax.block_until_ready(x + y)
    except ValueError as error:
        return [y, sorted(map(str, y.devices())), "incompatible devices" in str(error)]
    return "no error"


@feature
def donation() -> object:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        x = jax.device_put(A)
        return [jax.jit(lambda y: y + 1, donate_argnums=0)(x), x.is_deleted()]


@feature
def memory_kinds() -> object:
    device = jax.devices()[0]
    pinned = jax.device_put(A, SingleDeviceSharding(device, memory_kind="pinned_host"))
    back = jax.device_put(pinned, SingleDeviceSharding(device, memory_kind="device"))
    return [sorted(m.kind for m in device.addressable_memories()), device.default_memory().kind, pinned, back]


@feature
def interchange() -> object:
    return [
        jnp.from_dlpack(A),
        np.from_dlpack(jax.device_put(A)),
        jnp.from_dlpack(jax.device_put(A)),
        pickle.loads(pickle.dumps(jnp.ones(3))),
    ]


@feature
def double_precision() -> object:
    with wide():
        x = S.astype(np.float64)
        functions = (jnp.arctan, jnp.sin, jnp.exp, jnp.log1p, jnp.tanh, jnp.cbrt)
        made = [function(jnp.abs(x) / 9) for function in functions]
        return [made, jnp.linalg.cholesky(x), jnp.linalg.eigvalsh(x), jnp.arange(3) + 2**40, jnp.float64(1) / 3]


@feature
def narrow_floats() -> object:
    made = []
    for dtype in (jnp.bfloat16, jnp.float16, jnp.float8_e4m3fn, jnp.float8_e5m2):
        x = jnp.asarray(A).astype(dtype)
        made += [x, (x.astype(jnp.float32) * 2).astype(dtype)]
    half = jnp.asarray(A).astype(jnp.bfloat16)
    return [*made, half @ half, half.sum(), half > 0]


@feature
def narrow_integers() -> object:
    x = jnp.arange(-8, 8).astype(jnp.int4)
    return [
        x,
        (x + x).astype(jnp.int32),
        x.astype(jnp.uint4),
        jnp.arange(4).astype(jnp.int2),
        x[::-1],
        x.reshape(4, 4).T,
    ]


@feature
def strings() -> object:
    from numpy.dtypes import StringDType

    return np.asarray(jax.device_put(np.array(["a", "bcd", ""], dtype=StringDType()), jax.devices()[0]))


@feature
def texts() -> object:
    x = jnp.arange(3.0)
    return [
        str(x),
        repr(x),
        f"{x.sum():.2f}",
        repr(jax.random.key(0)),
        str(jnp.float32(2).tolist()),
        repr(jnp.ones((2, 2), jnp.int4)),
    ]


@feature
def conversions() -> object:
    s = jnp.float32(2.5)
    return [
        float(s),
        int(s),
        bool(s),
        complex(s).real,
        s.item(),
        [1, 2, 3][jnp.int32(1)],
        jnp.arange(3).tolist(),
        len(jnp.ones(3)),
    ]


@feature
def keys() -> object:
    split = jax.random.split(jax.random.key(0), 3)
    return [str(split.dtype), list(split.shape), jax.random.key_data(split)]


@feature
def exporting() -> object:
    from jax import export

    function = export.export(jax.jit(lambda x: jnp.sin(x) @ x))(jax.ShapeDtypeStruct(A.shape, A.dtype))
    factor = export.export(jax.jit(jnp.linalg.cholesky))(jax.ShapeDtypeStruct(S.shape, S.dtype))
    made = [export.deserialize(f.serialize()).call(x) for f, x in ((function, A), (factor, S))]
    return [list(function.platforms), made]


@feature
def compiled_ahead() -> object:
    lowered = jax.jit(lambda x: x @ x).lower(A)
    compiled = lowered.compile()
    return [
        compiled(A),
        "stablehlo" in lowered.as_text(),
        compiled.cost_analysis(),
        compiled.memory_analysis() is not None,
    ]


@feature
def serialized_executables() -> object:
    from jax.experimental import serialize_executable

    payload, inputs, outputs = serialize_executable.serialize(jax.jit(lambda x: x * 2).lower(A).compile())
    return serialize_executable.deserialize_and_load(payload, inputs, outputs, execution_devices=jax.devices()[:1])(A)


@feature
def compilation_cache() -> object:
    from jax.experimental.compilation_cache import compilation_cache as cache

    with tempfile.TemporaryDirectory() as folder:
        jax.config.update("jax_compilation_cache_dir", folder)
        jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
        jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
        cache.reset_cache()
        try:
            first = jax.device_get(jax.jit(lambda x: jnp.sin(x) * 3.25)(A))
            stored = len(os.listdir(folder))
            jax.clear_caches()
            return [stored > 0, first, jax.jit(lambda x: jnp.sin(x) * 3.25)(A)]
        finally:
            jax.config.update("jax_compilation_cache_dir", None)
            cache.reset_cache()


@feature
def profiling() -> object:
    with tempfile.TemporaryDirectory() as folder:
        with jax.profiler.trace(folder):
            jax.block_until_ready(jnp.sin(A))
        files = sum(len(names) for _, _, names in os.walk(folder))
    return [files > 0, len(jax.profiler.device_memory_profile()) > 0]


@feature
def names_of_devices() -> object:
    device = jax.devices()[0]
    return [jax.default_backend(), device.platform, device.device_kind, str(device), device.id, jax.device_count()]


@feature
def by_platform() -> object:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        there = jax.jit(lambda x: x + 1, backend="cpu")(A)
    return [lax.platform_dependent(A, cpu=lambda x: x + 1, default=lambda x: x + 2), there]


@feature
def the_cpu_beside() -> object:
    device = jax.devices("cpu")[0]
    x = jax.device_put(jax.device_put(A), device)
    with jax.default_device(device):
        y = jnp.arange(3.0) + 1
    return [x, y, len(jax.devices("cpu"))]


@feature
def kernels() -> object:
    from jax.experimental import pallas

    def double(x: object, o: object) -> None:
        o[...] = x[...] * 2  # type: ignore[index]

    return pallas.pallas_call(double, out_shape=jax.ShapeDtypeStruct(A.shape, A.dtype), interpret=True)(A)


@feature
def shardings_seen() -> object:
    seen: list[object] = []
    jax.block_until_ready(jax.jit(lambda x: (jax.debug.inspect_array_sharding(x, callback=seen.append), x)[1])(A))
    return len(seen)


@feature
def errors() -> object:
    made = []
    for task in (lambda: jax.jit(lambda x: x @ x)(B), lambda: jnp.ones(3)[jnp.float32(1)], lambda: jax.devices("gpu")):
        try:
            jax.block_until_ready(task())
        except Exception as error:  # noqa: BLE001 the class is compared
            made.append(type(error).__name__)
    return made


@feature
def threads() -> object:
    made: dict[int, float] = {}
    workers = [threading.Thread(target=lambda i=i: made.__setitem__(i, float(jnp.sum(A * i)))) for i in range(8)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return [made[i] for i in range(8)]


@feature
def statistics() -> object:
    return [
        isinstance(jax.live_arrays(), list),
        jnp.histogram(A, 4),
        jnp.percentile(A, 30),
        jnp.corrcoef(A),
        jnp.interp(0.3, A[0], A[1]),
    ]


@feature
def training() -> object:
    x, y = random_of((32, 4)), random_of((32, 1))
    params = [jnp.asarray(random_of((4, 8))), jnp.asarray(random_of((8, 1)))]

    @functools.partial(jax.jit, donate_argnums=0)
    def step(params: list[jax.Array]) -> tuple[list[jax.Array], jax.Array]:
        loss, slope = jax.value_and_grad(lambda p: jnp.mean((jnp.tanh(x @ p[0]) @ p[1] - y) ** 2))(params)
        return [p - 0.1 * g for p, g in zip(params, slope, strict=True)], loss

    losses = []
    for _ in range(10):
        params, loss = step(params)
        losses.append(float(loss))
    return losses


def main() -> None:
    if sys.argv[1] == "virtual":
        from jaxlint.witness import virtual

        def fail(reason: str) -> None:
            raise SystemExit(reason)

        virtual.start(fail)
    found: dict[str, object] = {}
    for name, function in FEATURES.items():
        try:
            found[name] = encoded(function())
        except Exception as error:  # noqa: BLE001 an error is an answer
            found[name] = f"{type(error).__name__}: {error}"[:500]
    print(json.dumps(found))


if __name__ == "__main__":
    main()
