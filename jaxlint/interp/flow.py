"""Statements: how control and values flow through blocks, branches, loops, try, with and match."""

from collections.abc import Sequence as Seq
from dataclasses import replace

import libcst as cst

from jaxlint.interp import effects, guards
from jaxlint.interp.assignment import assign
from jaxlint.interp.classes import all_fields
from jaxlint.interp.definitions import define_class, define_function
from jaxlint.interp.engine import Engine, Frame, GaveUp, Guard, Handler, State, statement
from jaxlint.interp.expressions import binary, note_suspension
from jaxlint.interp.gates import Gate, gate_of
from jaxlint.interp.heap import base_of, element_of, is_container, leaves, read
from jaxlint.interp.heat import Pace
from jaxlint.interp.iteration import iterated, loop_pace
from jaxlint.interp.modules import NAMESPACE, absolute, import_from, import_module, star_names
from jaxlint.interp.narrowing import narrow
from jaxlint.interp.program import bind, children
from jaxlint.interp.scopes import assign_name
from jaxlint.interp.values import (
    NONE,
    NOTHING,
    PYTHON,
    UNKNOWN,
    Function,
    Instance,
    Library,
    LibraryObject,
    Mapping,
    Moved,
    ProjectModule,
    Sequence,
    Value,
    join,
    of,
    widen,
    without_constant,
)
from jaxlint.kinds import ARRAY, Kind
from jaxlint.sites import Operation

MAX_TURNS = 4


def execute(frame: Frame, node: cst.CSTNode) -> None:
    """Run a suite, a line or a statement."""
    if isinstance(node, cst.IndentedBlock | cst.SimpleStatementLine | cst.SimpleStatementSuite | cst.Module):
        _block(frame, node.body)
        return
    engine = frame.engine
    engine.steps += 1
    if engine.steps > engine.step_limit:
        raise GaveUp
    executor = engine.statements.get(type(node))
    if executor is not None:
        executor(frame, node)


def _block(frame: Frame, body: Seq[cst.CSTNode]) -> None:
    before = frame.pace
    for node in body:
        if not frame.state.alive:
            break
        execute(frame, node)
        if isinstance(node, cst.If) and frame.state.alive and not frame.staged and _gates_the_rest(frame, node):
            frame.pace = frame.pace.then(Pace.GATED)
    frame.pace = before


def _gates_the_rest(frame: Frame, node: cst.If) -> bool:
    """True of ``if step % n: continue``, which leaves the rest of the block behind the gate."""
    return node.orelse is None and gate_of(frame, node.test) is Gate.FAILED and _leaves(node.body)


def _leaves(body: cst.BaseSuite) -> bool:
    last = body.body[-1] if body.body else None
    if isinstance(last, cst.SimpleStatementLine) and last.body:
        last = last.body[-1]
    return isinstance(last, cst.Continue | cst.Return | cst.Break | cst.Raise)


@statement(cst.Expr)
def _expression_statement(frame: Frame, node: cst.CSTNode) -> None:
    assert isinstance(node, cst.Expr)
    value = frame.engine.evaluate(frame, node.value)
    guards.discarded(frame, node.value, value)


@statement(cst.Assign)
def _assign(frame: Frame, node: cst.CSTNode) -> None:
    assert isinstance(node, cst.Assign)
    value = frame.engine.evaluate(frame, node.value)
    for target in node.targets:
        assign(frame, target.target, value)
    guards.assigned(frame, node, value)


@statement(cst.AnnAssign)
def _annotated_assign(frame: Frame, node: cst.CSTNode) -> None:
    assert isinstance(node, cst.AnnAssign)
    if node.value is not None:
        assign(frame, node.target, frame.engine.evaluate(frame, node.value))


@statement(cst.AugAssign)
def _augmented_assign(frame: Frame, node: cst.CSTNode) -> None:
    assert isinstance(node, cst.AugAssign)
    engine = frame.engine
    left = engine.evaluate(frame, node.target)
    right = engine.evaluate(frame, node.value)
    lists = [o for o in left.objects if isinstance(o, Sequence)]
    if lists and isinstance(node.operator, cst.AddAssign):
        for obj in lists:
            engine.heap.write(obj, "*", element_of(engine.heap, right))
        if not left.kind and is_container(left):
            return
    value = binary(frame, node, left, right, node.operator, (node.target, node.value))
    assign(frame, node.target, value)


@statement(cst.Return)
def _return(frame: Frame, node: cst.CSTNode) -> None:
    assert isinstance(node, cst.Return)
    value = Value(objects=frozenset()) if node.value is None else frame.engine.evaluate(frame, node.value)
    value = NONE if node.value is None else value
    activation = frame.activation
    if frame.traced and frame.info is not None and frame.info.place in frame.engine.memoised:
        held = [v for v in leaves(frame.engine.heap, value) if v.kind.must_be(Kind.TRACER)]
        if held:
            effects.record(frame, node, Operation.CACHE, None, [(v, node.value) for v in held[:1]], traced=True)
    if value.kind & ARRAY and effects.is_fetched(frame, value.tokens) and not _is_parameter(value):
        activation.result_fetched = True
    activation.result = join(activation.result, replace(value, tokens=frozenset()) if value.tokens else value)
    frame.state.alive = False


def _is_parameter(value: Value) -> bool:
    return any(t[0] == "parameter" for t in value.tokens)


@statement(cst.Raise)
def _raise(frame: Frame, node: cst.CSTNode) -> None:
    assert isinstance(node, cst.Raise)
    if node.exc is not None:
        frame.engine.evaluate(frame, node.exc)
    frame.state.alive = False


@statement(cst.Assert)
def _assert(frame: Frame, node: cst.CSTNode) -> None:
    assert isinstance(node, cst.Assert)
    truth(frame, node.test, frame.engine.evaluate(frame, node.test))
    if node.msg is not None:
        # Evaluated only on failure, after which nothing is hot.
        saved, frame.pace = frame.pace, Pace.ONCE
        sites, state = dict(frame.activation.sites), frame.state.copy()
        frame.engine.evaluate(frame, node.msg)
        frame.activation.sites, frame.state = sites, state
        frame.pace = saved
    narrow(frame, node.test, positive=True)


@statement(cst.Del)
def _delete(frame: Frame, node: cst.CSTNode) -> None:
    assert isinstance(node, cst.Del)
    if isinstance(node.target, cst.Name):
        frame.state.names.pop(node.target.value, None)


@statement(cst.Break)
def _break(frame: Frame, node: cst.CSTNode) -> None:
    frame.breaks.append(frame.state.copy())
    frame.state.alive = False


@statement(cst.Continue)
def _continue(frame: Frame, node: cst.CSTNode) -> None:
    frame.continues.append(frame.state.copy())
    frame.state.alive = False


def truth(frame: Frame, node: cst.CSTNode, value: Value) -> bool | None:
    """Ask a value for its truth: a fetch of an array. The answer where it is known, else None."""
    asked = value
    while isinstance(node, cst.BooleanOperation):
        # The operands before the last were asked when the operation ran.
        asked, node = frame.rights.get(id(node), asked), node.right
    if asked.kind & ARRAY:
        effects.reading(frame, node, Operation.TRUTH, None, [(asked, node)])
    for obj in value.objects:
        if isinstance(obj, Instance):
            method = frame.engine.attribute(frame, node, of(obj), "__bool__")
            if method.objects:
                frame.engine.call(frame, node, method, ())
    if value.none_only:
        return False
    if value.const:
        literal = value.const[0]
        return bool(literal) if isinstance(literal, bool | int | float) or literal is None else None
    return None


@statement(cst.If)
def _if(frame: Frame, node: cst.CSTNode) -> None:
    assert isinstance(node, cst.If)
    engine = frame.engine
    test = engine.evaluate(frame, node.test)
    known = truth(frame, node.test, test)
    gate = Gate.NONE if frame.staged else gate_of(frame, node.test)
    before = frame.state.copy()
    if known is False:
        frame.state.alive = False
    else:
        narrow(frame, node.test, positive=True)
        with frame.at_pace(Pace.GATED if gate is Gate.PASSED else Pace.ONCE):
            execute(frame, node.body)
    after = frame.state
    frame.state = before
    if known is True:
        frame.state.alive = False
    else:
        narrow(frame, node.test, positive=False)
        if node.orelse is not None:
            with frame.at_pace(Pace.GATED if gate is Gate.FAILED else Pace.ONCE):
                execute(frame, node.orelse.body if isinstance(node.orelse, cst.Else) else node.orelse)
    after.merge(frame.state)
    frame.state = after


def _loop(frame: Frame, turn: "Turn") -> None:
    """Run a loop's turns until nothing new is seen, at most MAX_TURNS; then what is not settled is widened."""
    breaks, continues = frame.breaks, frame.continues
    frame.breaks = []
    head = frame.state.copy()
    for n in range(MAX_TURNS):
        frame.state = head.copy()
        frame.continues = []
        turn(frame)
        for state in frame.continues:
            frame.state.merge(state)
        if n >= MAX_TURNS - 2:
            frame.state.names = {k: widen(v) for k, v in frame.state.names.items()}
        if not head.merge(frame.state):
            break
    exit_state = head
    for state in frame.breaks:
        exit_state.merge(state)
    if not exit_state.alive:
        exit_state = head
    frame.state = exit_state
    frame.breaks, frame.continues = breaks, continues


class Turn:
    """One turn of a loop."""

    def __call__(self, frame: Frame) -> None:
        """Run it in the frame's state."""
        raise NotImplementedError


class _ForTurn(Turn):
    def __init__(self, node: cst.For, element: Value, pace: Pace) -> None:
        self.node, self.element, self.pace = node, element, pace

    def __call__(self, frame: Frame) -> None:
        place = frame.place(self.node)
        frame.state.fetched = {t for t in frame.state.fetched if t[0] != place}
        with frame.at_pace(self.pace):
            assign(frame, self.node.target, self.element)
            execute(frame, self.node.body)


class _WhileTurn(Turn):
    def __init__(self, node: cst.While, pace: Pace) -> None:
        self.node, self.pace = node, pace

    def __call__(self, frame: Frame) -> None:
        with frame.at_pace(self.pace):
            test = frame.engine.evaluate(frame, self.node.test)
            truth(frame, self.node.test, test)
            narrow(frame, self.node.test, positive=True)
            execute(frame, self.node.body)


@statement(cst.For)
def _for(frame: Frame, node: cst.CSTNode) -> None:
    assert isinstance(node, cst.For)
    iterable = frame.engine.evaluate(frame, node.iter)
    if node.asynchronous is not None:
        note_suspension(frame, node.iter)
    token = (frame.place(node), frame.activation.number)
    element = without_constant(iterated(frame, node.iter, iterable, token))
    if element.is_nothing:
        # Nothing is known to be in it yet: a later pass may know more; its body is not dead.
        element = UNKNOWN if iterable.is_nothing or iterable.unknown else element
    pace = _marked(frame, node, loop_pace(frame, node.iter, iterable))
    targets: set[str] = set()
    bind(node.target, targets)
    saved = frame.loop_names
    bound = frame.loop_bound
    frame.loop_names = saved | targets
    frame.loop_bound = bound | _bound_in(frame, node)
    if element.is_nothing and not iterable.is_nothing:
        element = PYTHON if iterable.kind == Kind.PYTHON else UNKNOWN
    rekeyed, frame.rekeyed = frame.rekeyed, {}
    _loop(frame, _ForTurn(node, element, pace))
    _replace_rekeyed(frame, node)
    frame.rekeyed = rekeyed
    frame.loop_names, frame.loop_bound = saved, bound
    if node.orelse is not None and frame.state.alive:
        execute(frame, node.orelse.body)


def _replace_rekeyed(frame: Frame, node: cst.For) -> None:
    """After ``for k in m: m[k] = ...`` every value of m is what the loop stored."""
    for name, value in frame.rekeyed.items():
        held = frame.state.names.get(name)
        if held is None or not _mentions(node.iter, name) or len(value.kind) != 1:
            continue
        objects = frozenset(
            Moved(base_of(o), value.kind) if isinstance(base_of(o), Mapping) else o for o in held.objects
        )
        kind = value.kind if held.kind else held.kind
        assign_name(frame, name, replace(held, kind=kind, objects=objects, tokens=frozenset()))


def _mentions(root: cst.CSTNode, name: str) -> bool:
    todo = [root]
    while todo:
        node = todo.pop()
        if isinstance(node, cst.Name) and node.value == name:
            return True
        todo.extend(children(node))
    return False


@statement(cst.While)
def _while(frame: Frame, node: cst.CSTNode) -> None:
    assert isinstance(node, cst.While)
    bound = frame.loop_bound
    frame.loop_bound = bound | _bound_in(frame, node)
    _loop(frame, _WhileTurn(node, _marked(frame, node, Pace.ONCE if frame.staged else Pace.LOOPED)))
    frame.loop_bound = bound
    if isinstance(node.test, cst.Name) and node.test.value == "True" and not frame.state.alive:
        frame.state.alive = False
    if node.orelse is not None and frame.state.alive:
        execute(frame, node.orelse.body)


def _bound_in(frame: Frame, node: cst.For | cst.While) -> frozenset[str]:
    return frame.module.bound_in(node)


def _marked(frame: Frame, node: cst.CSTNode, pace: Pace) -> Pace:
    mark = frame.module.mark_of(node)
    if mark == "cold":
        return Pace.ONCE
    return Pace.LOOPED if mark == "hot" and not frame.staged else pace


@statement(cst.Try, cst.TryStar)
def _try(frame: Frame, node: cst.CSTNode) -> None:
    assert isinstance(node, cst.Try | cst.TryStar)
    before = frame.state.copy()
    held = guards.broad_handlers(frame, node)
    frame.handlers.extend(held)
    tolerant = guards.expects_tracers(node)
    frame.tolerant += tolerant
    execute(frame, node.body)
    frame.tolerant -= tolerant
    if held:
        del frame.handlers[-len(held) :]
    raised = before
    raised.merge(frame.state)
    raised.alive = True
    after = frame.state
    if node.orelse is not None and after.alive:
        execute(frame, node.orelse.body)
        after = frame.state
    for clause in node.handlers:
        frame.state = raised.copy()
        if clause.type is not None:
            frame.engine.evaluate(frame, clause.type)
        if clause.name is not None and isinstance(clause.name.name, cst.Name):
            assign_name(frame, clause.name.name.value, UNKNOWN)
        execute(frame, clause.body)
        after.merge(frame.state)
    frame.state = after
    if node.finalbody is not None:
        alive = frame.state.alive
        frame.state.alive = True
        execute(frame, node.finalbody.body)
        frame.state.alive = frame.state.alive and alive


@statement(cst.With)
def _with(frame: Frame, node: cst.CSTNode) -> None:
    assert isinstance(node, cst.With)
    held = frame.guards
    handlers = len(frame.handlers)
    disabled = frame.jit_disabled
    for item in node.items:
        value = frame.engine.evaluate(frame, item.item)
        if node.asynchronous is not None:
            note_suspension(frame, item.item)
        entered = _entered(frame, item.item, value)
        if any(isinstance(o, LibraryObject) and o.name == "jax.disable_jit" for o in value.objects):
            frame.jit_disabled = True
        guard = guards.entered(frame, item.item, value)
        if guard is not None:
            frame.guards = (*frame.guards, guard)
        frame.guards = (*frame.guards, *_managed(frame, value))
        suppressing = guards.suppressing(frame, item.item, value)
        if suppressing is not None:
            frame.handlers.append(suppressing)
        if item.asname is not None:
            assign(frame, item.asname.name, entered)
    if len(frame.guards) > len(held):
        guards.body_of_guard(frame, node)
    execute(frame, node.body)
    frame.guards = held
    frame.jit_disabled = disabled
    del frame.handlers[handlers:]
    if any(_swallows(item.item) for item in node.items):
        frame.state.alive = True


def _managed(frame: Frame, value: Value) -> tuple[Guard, ...]:
    """The guards that a context manager of the project holds around the body."""
    out: tuple[Guard, ...] = ()
    for obj in value.objects:
        if isinstance(obj, LibraryObject) and obj.name == "contextlib.manager" and len(obj.parts) > 1:
            for inner in obj.parts[1].objects:
                if isinstance(inner, Function):
                    out += frame.engine.managers.get(inner.place, ())
    return out


def _swallows(node: cst.BaseExpression) -> bool:
    func = node.func if isinstance(node, cst.Call) else node
    name = func.attr.value if isinstance(func, cst.Attribute) else func.value if isinstance(func, cst.Name) else ""
    return name in {"suppress", "raises", "assertRaises", "assertRaisesRegex"}


def _entered(frame: Frame, node: cst.CSTNode, value: Value) -> Value:
    out = NOTHING
    for obj in value.objects:
        match obj:
            case Instance():
                method = frame.engine.attribute(frame, node, of(obj), "__enter__")
                out = join(out, frame.engine.call(frame, node, method, ()) if method.objects else of(obj))
            case LibraryObject("contextlib.manager", parts, _):
                out = join(out, element_of(frame.engine.heap, parts[0]))
            case _:
                out = join(out, of(obj))
    if value.kind or value.unknown:
        out = join(out, Value(value.kind, unknown=value.unknown))
    return out


@statement(cst.Match)
def _match(frame: Frame, node: cst.CSTNode) -> None:
    assert isinstance(node, cst.Match)
    subject = frame.engine.evaluate(frame, node.subject)
    before = frame.state
    after = before.copy()
    after.alive = not any(_catches_all(case) for case in node.cases)
    for case in node.cases:
        frame.state = before.copy()
        _bind_pattern(frame, case.pattern, subject)
        if case.guard is not None:
            truth(frame, case.guard, frame.engine.evaluate(frame, case.guard))
        execute(frame, case.body)
        after.merge(frame.state)
    frame.state = after


def _catches_all(case: cst.MatchCase) -> bool:
    return case.guard is None and isinstance(case.pattern, cst.MatchAs) and case.pattern.pattern is None


def _bind_pattern(frame: Frame, pattern: cst.MatchPattern, subject: Value) -> None:
    heap = frame.engine.heap
    if isinstance(pattern, cst.MatchAs):
        if pattern.pattern is not None:
            _bind_pattern(frame, pattern.pattern, subject)
        if pattern.name is not None:
            assign_name(frame, pattern.name.value, subject)
    elif isinstance(pattern, cst.MatchValue):
        value = frame.engine.evaluate(frame, pattern.value)
        if (subject.kind | value.kind) & ARRAY:
            effects.reading(frame, pattern.value, Operation.TRUTH, None, [(subject, pattern.value)])
    elif isinstance(pattern, cst.MatchOr):
        for one in pattern.patterns:
            _bind_pattern(frame, one.pattern, subject)
    elif isinstance(pattern, cst.MatchList | cst.MatchTuple):
        items = frame.engine.unpack_star(subject)
        for n, element in enumerate(pattern.patterns):
            if isinstance(element, cst.MatchSequenceElement):
                part = items[n] if items is not None and n < len(items) else element_of(heap, subject)
                _bind_pattern(frame, element.value, part)
            elif isinstance(element, cst.MatchStar) and element.name is not None:
                assign_name(frame, element.name.value, subject)
    elif isinstance(pattern, cst.MatchMapping):
        for entry in pattern.elements:
            key = frame.engine.evaluate(frame, entry.key)
            _bind_pattern(frame, entry.pattern, frame.engine.subscript(frame, entry.key, subject, key, entry.key))
    elif isinstance(pattern, cst.MatchClass):
        for n, positional in enumerate(pattern.patterns):
            _bind_pattern(frame, positional.value, _nth_field(frame, subject, n))
        for keyword in pattern.kwds:
            part = frame.engine.attribute(frame, keyword.pattern, subject, keyword.key.value)
            _bind_pattern(frame, keyword.pattern, part)


def _nth_field(frame: Frame, subject: Value, n: int) -> Value:
    """The field that the n-th positional pattern of a class means: dataclasses and named tuples in their order."""
    out = NOTHING
    for obj in subject.objects:
        below = base_of(obj)
        if isinstance(below, Instance):
            fields = all_fields(frame.engine, below.cls)
            if n < len(fields):
                out = join(out, read(frame.engine.heap, obj, fields[n][0]) or UNKNOWN)
    return UNKNOWN if out.is_nothing else out


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


@statement(cst.FunctionDef)
def _function(frame: Frame, node: cst.CSTNode) -> None:
    assert isinstance(node, cst.FunctionDef)
    value = define_function(frame, node)
    assign_name(frame, node.name.value, value)


@statement(cst.ClassDef)
def _class(frame: Frame, node: cst.CSTNode) -> None:
    assert isinstance(node, cst.ClassDef)
    assign_name(frame, node.name.value, define_class(frame, node))


__all__ = ["Handler", "State", "execute", "truth"]
