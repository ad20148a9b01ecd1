"""What the names in import statements mean: libraries, or modules of the project."""

from jaxlint.interp.engine import Engine
from jaxlint.interp.frames import Call, Frame
from jaxlint.interp.library import returned
from jaxlint.interp.program import Module
from jaxlint.interp.project import Project
from jaxlint.interp.values import UNKNOWN, Library, ProjectModule, Sequence, Tuple, Value, of


def import_module(frame: Frame, name: str) -> Value:
    """The value of a module by its absolute dotted name: project modules first, unless the models know the library."""
    engine = frame.engine
    path = None if _stays_library(engine, name) else engine.project.find(name, frame.module.path)
    if path is not None:
        return of(ProjectModule(path))
    return of(Library(engine.models.canonical(name)))


NAMESPACE = "namespace:"
"""How the name of a library begins that is a folder of the project without __init__.py."""


def below_namespace(frame: Frame, head: str, name: str) -> Value:
    """An attribute of a namespace package: a module of the project, or a further folder."""
    full = f"{head.removeprefix(NAMESPACE)}.{name}"
    path = frame.engine.project.find(full, frame.module.path)
    return of(ProjectModule(path)) if path is not None else of(Library(f"{NAMESPACE}{full}"))


def _stays_library(engine: Engine, name: str) -> bool:
    return name.partition(".")[0] in engine.models.libraries


def import_from(frame: Frame, module_name: str, name: str) -> Value:
    """The value of ``from module_name import name``."""
    engine = frame.engine
    models = engine.models
    full = f"{module_name}.{name}"
    if _stays_library(engine, module_name):
        canonical = models.canonical(full)
        described = models.exact(canonical) or models.attribute(canonical) is not None
        inside = engine.project.find(module_name, frame.module.path)
        if described or inside is None:
            word = models.attribute(canonical)
            if word is not None:
                return returned(Call(frame, frame.module.tree, canonical, ()), word)
            return of(Library(canonical))
    path = engine.project.find(module_name, frame.module.path)
    if path is not None:
        value = module_attribute(engine, path, name) if path != frame.module.path else UNKNOWN
        if not value.is_nothing and not (value.unknown and not value.objects and not value.kind):
            return value
    below = engine.project.find(full, frame.module.path)
    if below is not None:
        return of(ProjectModule(below))
    if path is not None and not (_stays_library(engine, module_name) and _lacks(engine, path, name)):
        return UNKNOWN
    return of(Library(models.canonical(full)))


def _lacks(engine: Engine, path: str, name: str) -> bool:
    """True if a folder that is called like a library does not have the name: the library itself is meant."""
    module = engine.project.at(path)
    bound = frozenset[str]() if module is None else module.bound_in(module.tree)
    return module is not None and name not in bound and "*" not in bound and not module.name.count(".")


def module_attribute(engine: Engine, path: str, name: str) -> Value:
    """A name of a project module, which is run first if it has not been."""
    module = engine.project.at(path)
    if module is None:
        return UNKNOWN
    if module.name.partition(".")[0] in engine.models.libraries:
        canonical = engine.models.canonical(f"{module.name}.{name}")
        if engine.models.exact(canonical):
            return of(Library(canonical))
    activation = engine.run_module(module)
    scope = engine.scopes[activation.number]
    engine.heap.note_read((scope.number, name))
    value = scope.names.get(name)
    if value is not None:
        return value
    below = engine.project.find(f"{module.name}.{name}", path) if module.is_package else None
    return of(ProjectModule(below)) if below is not None else UNKNOWN


def star_names(engine: Engine, path: str) -> dict[str, Value]:
    """What ``from module import *`` brings."""
    module = engine.project.at(path)
    if module is None:
        return {}
    activation = engine.run_module(module)
    names = engine.scopes[activation.number].names
    public = _listed(engine, names.get("__all__", UNKNOWN))
    return {k: v for k, v in names.items() if (not k.startswith("_") if public is None else k in public)}


def _listed(engine: Engine, value: Value) -> set[str] | None:
    """The strings of a list or tuple that is written out; None of anything else."""
    found: set[str] = set()
    for obj in value.objects:
        if isinstance(obj, Tuple):
            items = list(obj.items)
        elif isinstance(obj, Sequence):
            items = list(engine.heap.fields(obj).values())
        else:
            return None
        for item in items:
            if not item.const or not isinstance(item.const[0], str) or not item.const[0]:
                return None
            found.add(item.const[0])
    return found if found and not value.unknown and not value.kind else None


def absolute(module: Module, level: int, name: str) -> str:
    """The absolute name of a relative import."""
    return Project.absolute(module, level, name) if level else name
