"""Tests: what pytest gives to a test or a fixture, by fixtures of its name and by parameters."""

import ast
from collections.abc import Callable, Iterator

from jaxlint.interp.frames import Argument, Frame
from jaxlint.interp.heap import element_of
from jaxlint.interp.modules import module_attribute
from jaxlint.interp.program import FunctionInfo
from jaxlint.interp.syntax import last_name, text_in
from jaxlint.interp.values import Function, Stream, Value, of

Arguments = Callable[[FunctionInfo, Function], list[Argument]]
"""What a function that nobody calls is given."""
_LISTS = {"argnames": 0, "argvalues": 1}
_INDIRECT = 2


def given_by_pytest(
    frame: Frame, info: FunctionInfo, function: Function, name: str, arguments: Arguments
) -> Value | None:
    """The value of a parameter of a test or a fixture; None where pytest is not known to give one."""
    if not info.name.startswith("test") and not _is_fixture(info):
        return None
    parameters = _parametrized(frame, info, function, name)
    if parameters is not None:
        return parameters
    for fixture in _fixtures(frame, info, function, name):
        found = frame.engine.by_place[fixture.place]
        value = frame.engine.call(frame, found.node, of(fixture), arguments(found, fixture))
        if any(isinstance(o, Stream) for o in value.objects) and found.is_generator:
            return element_of(frame.engine.heap, value)
        return value
    return None


def _is_fixture(info: FunctionInfo) -> bool:
    return any(last_name(_called(d)) == "fixture" for d in _decorators(info))


def _decorators(info: FunctionInfo) -> list[ast.expr]:
    return [] if isinstance(info.node, ast.Lambda) else info.node.decorator_list


def _called(decorator: ast.expr) -> ast.expr:
    return decorator.func if isinstance(decorator, ast.Call) else decorator


def _parametrized(frame: Frame, info: FunctionInfo, function: Function, name: str) -> Value | None:
    """What ``@pytest.mark.parametrize`` gives under a name."""
    engine = frame.engine
    for decorator in _decorators(info):
        if not isinstance(decorator, ast.Call) or last_name(decorator.func) != "parametrize":
            continue
        given = dict(zip(_LISTS, decorator.args, strict=False))
        given |= {k.arg: k.value for k in decorator.keywords if k.arg in _LISTS}
        names, values = _names(given.get("argnames")), given.get("argvalues")
        if name not in names or values is None or _is_indirect(decorator, name):
            continue
        around = frame.elsewhere(engine.scopes[function.scope], info.module)
        each = element_of(engine.heap, engine.evaluate(around, values))
        if len(names) == 1:
            return each
        items = engine.unpack_star(each)
        return items[names.index(name)] if items is not None and len(items) == len(names) else None
    return None


def _is_indirect(decorator: ast.Call, name: str) -> bool:
    """True of a name under which a fixture is given what stands there, and the test what the fixture makes of it."""
    node = next((k.value for k in decorator.keywords if k.arg == "indirect"), None)
    if len(decorator.args) > _INDIRECT:
        node = decorator.args[_INDIRECT]
    return name in _names(node) or (isinstance(node, ast.Constant) and node.value is True)


def _names(node: ast.expr | None) -> list[str]:
    if isinstance(node, ast.List | ast.Tuple):
        return [text_in(element) or "" for element in node.elts]
    return [name.strip() for name in (text_in(node) or "").split(",")]


def _fixtures(frame: Frame, info: FunctionInfo, function: Function, name: str) -> Iterator[Function]:
    """The fixtures of a name, the nearest first: of the class, the module and the conftest.py files above it."""
    engine = frame.engine
    values = [engine.look_up(engine.scopes[function.scope], name)]
    if info.enclosing_class is not None:
        values.insert(0, engine.scopes[function.scope].names.get(name))
    folder = info.module.path
    while folder:
        folder = folder.rpartition("/")[0]
        path = f"{folder}/conftest.py" if folder else "conftest.py"
        if path != info.module.path and engine.project.has(path):
            values.append(module_attribute(engine, path, name))
    for value in values:
        for obj in () if value is None else value.objects:
            if isinstance(obj, Function) and obj != function and _is_fixture(engine.by_place[obj.place]):
                yield obj
