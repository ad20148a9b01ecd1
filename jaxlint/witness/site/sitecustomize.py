"""Found first by a Python that inherits jaxlint's PYTHONPATH: starts the witness, then the sitecustomize that it hides.

The folder is taken off the path again: the program sees the path that it would have had.
"""


def _start() -> None:
    import importlib.util
    import os
    import sys

    here = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry or os.curdir) != here]
    package = os.path.dirname(here)
    name = "_jaxlint_witness"
    spec = importlib.util.spec_from_file_location(
        name, os.path.join(package, "__init__.py"), submodule_search_locations=[package]
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
        importlib.import_module(name + ".start").start()
    finally:
        mine = sys.modules.pop("sitecustomize")
        try:
            import sitecustomize  # type: ignore[import-not-found]  # noqa: F401
        except ImportError as error:
            if error.name != "sitecustomize":
                raise
        # The import that is under way looks for it again.
        sys.modules.setdefault("sitecustomize", mine)


_start()
del _start
