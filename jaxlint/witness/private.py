"""The private names of jax that the witness builds on, in one place: where host code reads an array, and how the guard
names a type. Importing this module imports nothing of jax."""

from collections.abc import Callable
from typing import Any

# Methods of `ArrayImpl` that read one array; a jax has some of them.
FETCHES = ("_single_device_array_to_np_array_did_copy", "_to_np_array_did_copy", "_single_device_array_to_np_array")
# The guard names element types as XLA does.
_XLA_TYPES = (("bfloat", "BF"), ("float", "F"), ("uint", "U"), ("int", "S"), ("complex", "C"))


def copying_modules() -> list[Any]:
    """Those of jaxlib that begin the copies of several arrays: each has `batched_copy_to_host_async`."""
    from jax._src import lib

    modules = [vars(lib)[name] for name in ("_jax", "xla_extension", "xla_client") if name in vars(lib)]
    return [module for module in modules if hasattr(module, "batched_copy_to_host_async")]


def replace_callbacks(made: Callable[[Callable[..., Any]], Callable[..., Any]]) -> None:
    """Puts what is made of each function that calls back outside compiled code in its place, also in primitives."""
    from jax._src import callback, debugging

    places = ((callback, "pure_callback_impl"), (callback, "io_callback_impl"), (debugging, "debug_callback_impl"))
    for module, name in places:
        original = getattr(module, name, None)
        if original is None:
            continue
        new = made(original)
        setattr(module, name, new)
        for primitive in vars(module).values():
            if getattr(primitive, "impl", None) is original:
                primitive.impl = new


def host_device() -> Any:
    """The one to which jax brings what a callback is given."""
    from jax._src import xla_bridge

    return xla_bridge.local_devices(backend="cpu")[0]


def host_client() -> Any:
    """The ordinary CPU's, where it stands beside an accelerator's; None where it is alone, or nothing is there yet."""
    from jax._src import xla_bridge

    return xla_bridge._backends.get("cpu") if len(xla_bridge._backends) > 1 else None


def described(value: Any) -> str:
    """Shape and type of an array, as the guard names them."""
    shape, name = getattr(value, "shape", ()), str(getattr(getattr(value, "dtype", None), "name", "?"))
    return f"shape=({','.join(map(str, shape))}), dtype={xla_type(name)}"


def xla_type(name: str) -> str:
    """The guard's name of a NumPy type: F32 for float32."""
    if name == "bool":
        return "PRED"
    for long, short in _XLA_TYPES:
        if name.startswith(long):
            return short + name.removeprefix(long).upper()
    return name.upper()
