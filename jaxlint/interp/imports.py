"""Import statements: the names that they bind."""

import ast

from jaxlint.interp.engine import Engine, statement
from jaxlint.interp.frames import Frame
from jaxlint.interp.modules import NAMESPACE, absolute, import_from, import_module, star_names
from jaxlint.interp.scopes import assign_name
from jaxlint.interp.values import (
    Library,
    ProjectModule,
    of,
)


@statement(ast.Import)
def _import(frame: Frame, node: ast.AST) -> None:
    assert isinstance(node, ast.Import)
    for alias in node.names:
        name = alias.name
        if alias.asname is not None:
            assign_name(frame, alias.asname, import_module(frame, name))
            continue
        top = name.partition(".")[0]
        value = import_module(frame, top)
        if "." in name:
            inner = import_module(frame, name)
            if any(isinstance(o, ProjectModule) for o in inner.objects) and not any(
                isinstance(o, ProjectModule) for o in value.objects
            ):
                value = of(Library(f"{NAMESPACE}{top}"))
        assign_name(frame, top, value)


@statement(ast.ImportFrom)
def _import_from(frame: Frame, node: ast.AST) -> None:
    assert isinstance(node, ast.ImportFrom)
    module = absolute(frame.module, node.level, node.module or "")
    for alias in node.names:
        if alias.name == "*":
            _import_star(frame, module)
            return
        value = import_from(frame, module, alias.name) if module else import_module(frame, alias.name)
        assign_name(frame, alias.asname or alias.name, value)


def _import_star(frame: Frame, module: str) -> None:
    engine: Engine = frame.engine
    path = engine.project.find(module, frame.module.path)
    if path is not None and module.partition(".")[0] not in engine.models.libraries:
        for name, value in star_names(engine, path).items():
            assign_name(frame, name, value)
        return
    for name in engine.models.names_below(engine.models.canonical(module)):
        assign_name(frame, name, of(Library(engine.models.canonical(f"{module}.{name}"))))
