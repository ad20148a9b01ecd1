"""Cost analyses (`compiled.cost_analysis()`) for the arrays of a plugin that has none: the ordinary CPU client is asked
about the same program, as for a program that runs there. `lowered.cost_analysis()` stays None, which is what JAX gives
for every accelerator.

Needs the standard library and jax alone.
"""

from collections.abc import Callable
from types import ModuleType

UNIMPLEMENTED = "UNIMPLEMENTED"


def fill_in(xla_client: ModuleType, cpu_client: Callable[[], object]) -> None:
    """Asks the CPU client where an executable has no answer; all other errors stay. Nothing changes where jaxlib has
    other names: a program then sees None, which JAX documents."""
    of_module: Callable[[object, object], object] | None = getattr(xla_client._xla, "hlo_module_cost_analysis", None)
    executable = getattr(xla_client, "LoadedExecutable", None)
    original: Callable[[object], object] | None = getattr(executable, "cost_analysis", None)
    if of_module is None or original is None or executable is None:
        return

    def cost_analysis(self: object) -> object:
        try:
            return original(self)
        except RuntimeError as error:
            modules: list[object] = getattr(self, "hlo_modules", list)()
            if not str(error).startswith(UNIMPLEMENTED) or not modules:
                raise
        return of_module(cpu_client(), modules[0])

    executable.cost_analysis = cost_analysis
