"""Sites: operations at a place in the source, with the kinds of their operands.

The interpreter makes sites and the rulebook judges them; neither knows the other. Every type here is frozen and holds
no syntax node, so that sites can be cached, sent to another process and compared.
"""

import enum
from dataclasses import dataclass

from jaxlint.kinds import Kind


class Operation(enum.StrEnum):
    """What the source does at a site. A rule page names these values in its ``[[match]]`` blocks."""

    # Reading values on the host (a fetch when an operand is a DEVICE array, an error when it is a TRACER).
    PRINT = "print"  # print(x), pprint, rich.print
    FORMAT = "format"  # f-string, str(), repr(), str.format, %
    LOG = "log"  # logging and its relatives
    SCALAR = "scalar"  # float(x), int(x), complex(x), x.item(), math.sqrt(x), struct.pack
    TRUTH = "truth"  # if/while/assert/and/or/not/ternary/comprehension-if/bool(x)
    REDUCE = "reduce"  # builtin any/all/max/min/sorted, `in`, chained comparison
    NUMPY_CONVERSION = "numpy-conversion"  # np.asarray(x), np.array(x), x.__array__()
    NUMPY_FUNCTION = "numpy-function"  # np.clip(x, 0, 1), np.stack([x]), n[0] = x
    HOST_COPY = "host-copy"  # x.tolist(), x.tobytes(), list of Python scalars
    SAVE = "save"  # pickle, np.save, checkpoints, serialisation
    METRIC = "metric"  # metric writers and progress bars
    PLOT = "plot"  # matplotlib, images, video
    LIBRARY = "library"  # any other host library that reads the values (pandas, scipy, gym, cv2, csv)
    INDEX = "index"  # host_list[x], range(x), 'a' * x, dict[x]
    ASYNC_COPY = "async-copy"  # x.copy_to_host_async()
    VALUE_SHAPE = "value-shape"  # jnp.unique(x), jnp.nonzero(x), x[mask]: the shape depends on the values
    CONCRETE = "concrete"  # jnp.arange(n), jnp.zeros((n, 2)), x.sum(axis=n): a concrete value is needed
    CLOSURE = "closure"  # a device array captured by a compiled function: fetched at compilation
    HOST_CALLBACK = "host-callback"  # jax.debug.print and callbacks outside compiled code
    EXPLICIT_FETCH = "explicit-fetch"  # jax.device_get(x)
    # Giving host data to the device.
    COMPILED_CALL = "compiled-call"  # a compiled function called with host arrays or lists
    CONSTANT_CALL = "constant-call"  # the same, in a loop, with host data that never changes in the loop
    UPLOAD = "upload"  # jnp.array(host), jnp.asarray(host)
    EAGER_CALL = "eager-call"  # jnp.sin(host_array), jax.random.choice(key, host_array)
    MIXED = "mixed"  # host_array + device_array
    SCALAR_OPERAND = "scalar-operand"  # x + 1, x[0], step(x, 0.1)
    CREATE = "create"  # jnp.ones(3), jax.random.key(0)
    EXPLICIT_UPLOAD = "explicit-upload"  # jax.device_put(host)
    # Between devices.
    MIXED_DEVICES = "mixed-devices"  # operands on different devices
    RESHARD = "reshard"  # a compiled call or put whose sharding differs from the operand's
    REDUNDANT_PUT = "redundant-put"  # device_put of an array that is there already
    # Tracers alone.
    MASK = "mask"  # x[x > 0] in traced code
    LEAK = "leak"  # a tracer stored where it outlives the trace
    CACHE = "cache"  # a traced result kept by lru_cache or cached_property
    # The guard itself.
    GUARD_LEVEL = "guard-level"
    GUARD_THREAD = "guard-thread"
    GUARD_YIELD = "guard-yield"
    GUARD_UNENTERED = "guard-unentered"
    GUARD_REENTERED = "guard-reentered"
    GUARD_TRACED = "guard-traced"
    GUARD_SWALLOWED = "guard-swallowed"
    GUARD_VARIABLE = "guard-variable"
    GUARD_LIFTED = "guard-lifted"
    GUARD_CPU = "guard-cpu"
    GUARD_DEFINITION = "guard-definition"
    GUARD_CACHED = "guard-cached"


class Heat(enum.IntEnum):
    """How often a site runs. Ordered: ``max`` of two heats is the hotter."""

    COLD = 0
    PERIODIC = 1  # in a hot loop, under an "every n steps" test
    HOT = 2  # each turn of a loop that runs in Python, directly or through calls


class Confidence(enum.IntEnum):
    """How sure the inference is of the operand's kind."""

    LOW = 0
    MEDIUM = 1
    HIGH = 2  # every step from a known source to the site is known


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """A place in a file: lines and columns count from 1, columns in characters; the end column is exclusive."""

    path: str
    line: int
    column: int
    end_line: int
    end_column: int
    cell: int | None = None


@dataclass(frozen=True, slots=True)
class Note:
    """One step of a provenance: how an operand came to be where it is, or (`after`) where it goes from the site."""

    path: str
    line: int
    column: int
    message: str
    cell: int | None = None
    after: bool = False


@dataclass(frozen=True, slots=True)
class Operand:
    """An operand of a site: its possible places, the source text that names it (shortened, one line), and where its
    expression stands, without parentheses around it (None where it stands nowhere in the file). `whole` where the
    expression gives the array itself, and no container that holds it; `tree` where it gives that, or tuples, lists and
    dicts of arrays: what jax.device_get looks into, and no iterator or other object."""

    kind: Kind
    text: str
    span: Span | None = None
    whole: bool = False
    tree: bool = True


@dataclass(frozen=True, slots=True)
class Site:
    """An operation at a place. `callee` is the resolved dotted name ("numpy.asarray", "builtins.print"), a method as
    ".item", or None for syntax (an f-string, a truth test). `operands` are only those that the operation reads,
    uploads or moves. `detail` is what a message may add (a level, a direction, a library). `use` is what a fetched
    value is for, as far as the analysis saw where it goes; None leaves it to the rule."""

    span: Span
    operation: Operation
    callee: str | None
    operands: tuple[Operand, ...]
    heat: Heat
    traced: bool
    confidence: Confidence
    notes: tuple[Note, ...] = ()
    detail: str = ""
    use: str | None = None
