"""Import statements: the names that they bind."""

import libcst as cst

from jaxlint.interp.engine import Engine, Frame, statement
from jaxlint.interp.modules import NAMESPACE, absolute, import_from, import_module, star_names
from jaxlint.interp.scopes import assign_name
from jaxlint.interp.values import (
    Library,
    ProjectModule,
    of,
)


@statement(cst.Import)
def _import(frame: Frame, node: cst.CSTNode) -> None:
    assert isinstance(node, cst.Import)
    for alias in node.names:
        name = _dotted(alias.name)
        if alias.asname is not None and isinstance(alias.asname.name, cst.Name):
            assign_name(frame, alias.asname.name.value, import_module(frame, name))
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


def _dotted(node: cst.BaseExpression) -> str:
    if isinstance(node, cst.Attribute):
        return f"{_dotted(node.value)}.{node.attr.value}"
    return node.value if isinstance(node, cst.Name) else ""


@statement(cst.ImportFrom)
def _import_from(frame: Frame, node: cst.CSTNode) -> None:
    assert isinstance(node, cst.ImportFrom)
    module = absolute(frame.module, len(node.relative), _dotted(node.module) if node.module else "")
    if isinstance(node.names, cst.ImportStar):
        _import_star(frame, module)
        return
    for alias in node.names:
        name = _dotted(alias.name)
        value = import_from(frame, module, name) if module else import_module(frame, name)
        target = alias.asname.name if alias.asname is not None else alias.name
        if isinstance(target, cst.Name):
            assign_name(frame, target.value, value)


def _import_star(frame: Frame, module: str) -> None:
    engine: Engine = frame.engine
    path = engine.project.find(module, frame.module.path)
    if path is not None and module.partition(".")[0] not in engine.models.libraries:
        for name, value in star_names(engine, path).items():
            assign_name(frame, name, value)
        return
    for name in engine.models.names_below(engine.models.canonical(module)):
        assign_name(frame, name, of(Library(engine.models.canonical(f"{module}.{name}"))))
