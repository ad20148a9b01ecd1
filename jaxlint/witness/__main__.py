"""``python PATH/witness COMMAND``: what the parent process asks of an interpreter in which jaxlint is not installed."""

import importlib.util
import os
import sys

NAME = "_jaxlint_witness"


def _load() -> None:
    """This package by its path, under a name that nothing else has; its folder is no place to import from."""
    here = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry or os.curdir) != here]
    spec = importlib.util.spec_from_file_location(
        NAME, os.path.join(here, "__init__.py"), submodule_search_locations=[here]
    )
    assert spec is not None
    assert spec.loader is not None
    sys.modules[NAME] = module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)


if __name__ == "__main__":
    _load()
    importlib.import_module(f"{NAME}.requests").answer(sys.argv[1:])
