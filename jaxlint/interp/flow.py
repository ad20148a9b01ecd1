"""Statements: how control and values flow through blocks, branches, loops, try, with and match."""

from collections.abc import Sequence as Seq

import libcst as cst

from jaxlint.interp import effects, guards, uses
from jaxlint.interp.assignment import assign, refine_item
from jaxlint.interp.definitions import define_class, define_function
from jaxlint.interp.engine import Frame, Guard, Mode, statement
from jaxlint.interp.firsts import made_in_one_turn, made_once
from jaxlint.interp.gates import gate_of, gated
from jaxlint.interp.generators import note_suspension
from jaxlint.interp.guessing import guess
from jaxlint.interp.heap import element_of, is_container, leaves
from jaxlint.interp.heat import Gate, Pace
from jaxlint.interp.mappings import doubted_array
from jaxlint.interp.narrowing import narrow
from jaxlint.interp.operators import binary
from jaxlint.interp.program import children, walk
from jaxlint.interp.scopes import assign_name
from jaxlint.interp.states import State
from jaxlint.interp.values import (
    NONE,
    NOTHING,
    NULL,
    UNKNOWN,
    Function,
    Instance,
    LibraryObject,
    Sequence,
    Value,
    constant,
    join,
    of,
    replace,
)
from jaxlint.kinds import ARRAY, Kind
from jaxlint.sites import Operation

# Types are compared where every statement comes by: libcst's nodes are abstract base classes, where isinstance is slow.
_LINES = {cst.SimpleStatementLine, cst.SimpleStatementSuite}
_SUITES = {cst.IndentedBlock, cst.Module, *_LINES}
_WAYS_OUT = {cst.Break, cst.Return, cst.Raise}


def execute(frame: Frame, node: cst.CSTNode) -> None:
    """Run a suite, a line or a statement."""
    if type(node) in _SUITES:
        _block(frame, node.body)  # type: ignore[attr-defined]  # each of those types has a body
        return
    engine = frame.engine
    engine.budget.step()
    executor = engine.statements.get(type(node))
    if executor is not None:
        executor(frame, node)


def _block(frame: Frame, body: Seq[cst.CSTNode]) -> None:
    before = frame.pace
    frame.pace = _way_out(frame, body)
    for n, node in enumerate(body):
        if not frame.state.alive:
            break
        execute(frame, node)
        if type(node) is cst.If and frame.state.alive and not frame.staged and _leaves(node.body):
            frame.pace = frame.pace.then(_of_the_rest(frame, node, body[n + 1 :]))
    frame.pace = before


def _way_out(frame: Frame, body: Seq[cst.CSTNode]) -> Pace:
    """The pace of a block: one that ends by leaving its loops runs as often as those loops do, not as their turns."""
    last = body[-1] if body else None
    if type(last) in _LINES and last.body:  # type: ignore[union-attr]  # each of those types has a body
        last = last.body[-1]  # type: ignore[union-attr]  # likewise
    if type(last) not in _WAYS_OUT or frame.staged or any(map(_continues, body)):
        return frame.pace
    if isinstance(last, cst.Raise):
        return frame.pace if frame.trying else Pace.SINGLE
    if not frame.loops:
        return frame.pace
    return frame.loops[-1] if isinstance(last, cst.Break) else frame.loops[0]


_HOLDS_NONE = {cst.For, cst.While, cst.FunctionDef, cst.ClassDef, cst.Expr, cst.Return, cst.Assign, cst.AugAssign}


def _continues(node: cst.CSTNode) -> bool:
    """True if a turn may end within the statement and another begin."""
    kind = type(node)
    if kind is cst.Continue:
        return True
    if kind in _HOLDS_NONE or isinstance(node, cst.BaseExpression):
        return False
    return any(map(_continues, children(node)))


def _of_the_rest(frame: Frame, node: cst.If, rest: Seq[cst.CSTNode]) -> Pace:
    """The pace of what follows ``if step % n: continue`` and ``if self.data is not None: return``."""
    if node.orelse is not None:
        return Pace.ONCE
    if gate_of(frame, node.test) is Gate.FAILED:
        return Pace.GATED
    return Pace.SINGLE if made_once(frame, node.test, rest, holds=False) else Pace.ONCE


def _leaves(body: cst.BaseSuite) -> bool:
    last = body.body[-1] if body.body else None
    if isinstance(last, cst.SimpleStatementLine) and last.body:
        last = last.body[-1]
    return isinstance(last, cst.Continue | cst.Return | cst.Break | cst.Raise)


@statement(cst.Expr)
def _expression_statement(frame: Frame, node: cst.CSTNode) -> None:
    assert isinstance(node, cst.Expr)
    value = frame.engine.evaluate(frame, node.value)
    if value.is_nothing and isinstance(node.value, cst.Call) and not frame.trying:
        _only_raised(frame, node.value)
    guards.discarded(frame, node.value, value)


def _only_raised(frame: Frame, node: cst.Call) -> None:
    """The called function does nothing but raise: what is made ready for it is made once."""
    sites = frame.activation.sites
    inside = {id(n) for argument in node.args for n in walk(argument)}
    for key, site in sites.items():
        if id(site.node) in inside:
            sites[key] = replace(site, pace=Pace.SINGLE)


@statement(cst.Assign)
def _assign(frame: Frame, node: cst.CSTNode) -> None:
    assert isinstance(node, cst.Assign)
    value = gated(frame, node.value, frame.engine.evaluate(frame, node.value))
    for target in node.targets:
        assign(frame, target.target, value)
        if isinstance(node.value, cst.Dict):
            _remember_items(frame, target.target, node.value)
    guards.assigned(frame, node, value)


def _remember_items(frame: Frame, target: cst.BaseExpression, node: cst.Dict) -> None:
    """What a new dict holds until something else is stored: the heap alone only knows all that it ever held."""
    for name, value in frame.displayed.pop(id(node), {}).items():
        if not name.startswith("*"):
            refine_item(frame, target, constant(name), None, value)


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
        right = uses.stored(frame, node, right, node.target)
        for obj in lists:
            engine.heap.write(obj, "*", element_of(engine.heap, right))
        if not left.kind and is_container(left):
            return
    value = binary(frame, node, left, right, node.operator, (node.target, node.value))
    assign(frame, node.target, value)


@statement(cst.Return)
def _return(frame: Frame, node: cst.CSTNode) -> None:
    assert isinstance(node, cst.Return)
    value = NONE if node.value is None else gated(frame, node.value, frame.engine.evaluate(frame, node.value))
    activation = frame.activation
    if frame.traced and frame.info is not None and frame.info.place in frame.engine.memoised:
        held = [v for v in leaves(frame.engine.heap, value) if v.kind.must_be(Kind.TRACER)]
        if held:
            effects.record(frame, node, Operation.CACHE, None, [(v, node.value) for v in held[:1]], traced=True)
    if value.kind & ARRAY and effects.is_fetched(frame, value.tokens) and not _is_parameter(value):
        activation.result_fetched = True
    activation.result = join(activation.result, replace(value, tokens=frozenset()) if value.tokens else value)
    frame.note_end()
    _leave(frame)


def _leave(frame: Frame) -> None:
    """Nothing runs from here on but the handlers and the ends of the try statements around."""
    if frame.leaving is not None:
        frame.leaving.append(frame.state.copy())
    frame.state.alive = False


def _is_parameter(value: Value) -> bool:
    return any(t[0] == "parameter" for t in value.tokens)


@statement(cst.Raise)
def _raise(frame: Frame, node: cst.CSTNode) -> None:
    assert isinstance(node, cst.Raise)
    if node.exc is not None:
        frame.engine.evaluate(frame, node.exc)
    _leave(frame)


@statement(cst.Assert)
def _assert(frame: Frame, node: cst.CSTNode) -> None:
    assert isinstance(node, cst.Assert)
    truth(frame, node.test, frame.engine.evaluate(frame, node.test))
    if node.msg is not None:
        # Evaluated only on failure, after which nothing is hot.
        saved, frame.pace = frame.pace, frame.pace if frame.trying else Pace.SINGLE
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
    _leave(frame)


@statement(cst.Continue)
def _continue(frame: Frame, node: cst.CSTNode) -> None:
    frame.continues.append(frame.state.copy())
    _leave(frame)


def truth(frame: Frame, node: cst.CSTNode, value: Value) -> bool | None:
    """Ask a value for its truth: a fetch of an array. The answer where it is known, else None."""
    asked = value
    while isinstance(node, cst.BooleanOperation):
        # The operands before the last were asked when the operation ran.
        asked, node = frame.rights.get(id(node), asked), node.right
    if asked.kind & ARRAY and not (asked.kind is Kind.TRACER and NULL in asked.objects):
        if is_container(asked):
            # A tree of which only one branch is asked: where it is no array, its length answers.
            asked = guess(asked, frame.origin(node, "an array or a container of arrays"))
        asked = doubted_array(frame, node, asked)
        effects.reading(frame, node, Operation.TRUTH, None, [(asked, node)])
    uses.decided(frame, node, asked)
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
    gate = Gate.NONE if frame.staged or known is not None else gate_of(frame, node.test)
    before = frame.state.copy()
    if known is False:
        frame.state.alive = False
    else:
        narrow(frame, node.test, positive=True)
        first = made_once(frame, node.test, (node.body,), holds=True)
        pace = frame.pace
        if made_in_one_turn(frame, node.test, node.body):
            frame.pace = frame.loops[0]
        with frame.at_pace(Pace.SINGLE if first else Pace.GATED if gate is Gate.PASSED else Pace.ONCE):
            execute(frame, node.body)
        frame.pace = pace
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


@statement(cst.Try, cst.TryStar)
def _try(frame: Frame, node: cst.CSTNode) -> None:
    assert isinstance(node, cst.Try | cst.TryStar)
    before = frame.state.copy()
    held = guards.broad_handlers(frame, node)
    frame.handlers.extend(held)
    tolerant = guards.expects_tracers(node)
    frame.tolerant += tolerant
    outer, frame.leaving = frame.leaving, []
    catching = any(not _raises(handler.body) for handler in node.handlers)
    frame.trying += catching
    execute(frame, node.body)
    frame.trying -= catching
    frame.tolerant -= tolerant
    if held:
        del frame.handlers[-len(held) :]
    raised = before
    fetched = before.fetched.union(*(state.fetched for state in (frame.state, *frame.leaving)))
    for state in (frame.state, *frame.leaving):
        raised.merge(state)
    # An error is about what was done: what the body fetched has its host copy when a handler looks at it.
    raised.alive, raised.fetched = True, fetched
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
    left, frame.leaving = frame.leaving, outer
    if outer is not None:
        outer.extend(left)
    if node.finalbody is not None:
        _finally(frame, node.finalbody, after, left)
    else:
        frame.state = after


def _raises(body: cst.BaseSuite) -> bool:
    """True of a handler that raises again, in other words perhaps: the program does not go on behind it."""
    last = body.body[-1] if body.body else None
    if isinstance(last, cst.SimpleStatementLine) and last.body:
        last = last.body[-1]
    return isinstance(last, cst.Raise)


def _finally(frame: Frame, node: cst.Finally, after: State, left: Seq[State]) -> None:
    """Run the end of a try statement: for the ways out of it, and for what goes on behind it."""
    if left:
        frame.state = left[0].copy()
        for state in left[1:]:
            frame.state.merge(state)
        execute(frame, node.body)
    frame.state = after
    if after.alive or not left:
        alive, after.alive = after.alive, True
        execute(frame, node.body)
        frame.state.alive = frame.state.alive and alive


@statement(cst.With)
def _with(frame: Frame, node: cst.CSTNode) -> None:
    assert isinstance(node, cst.With)
    held = frame.guards
    handlers = len(frame.handlers)
    disabled, mode = frame.jit_disabled, frame.mode
    for item in node.items:
        value = frame.engine.evaluate(frame, item.item)
        if node.asynchronous is not None:
            note_suspension(frame, item.item)
        entered = _entered(frame, item.item, value)
        if any(isinstance(o, LibraryObject) and o.name == "jax.disable_jit" for o in value.objects):
            frame.jit_disabled = frame.jit_disabled or _is_asked(frame, item.item)
        if any(isinstance(o, LibraryObject) and o.name == "jax.ensure_compile_time_eval" for o in value.objects):
            frame.mode = Mode.EAGER  # what depends on no tracer is computed at once
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
    frame.jit_disabled, frame.mode = disabled, mode
    del frame.handlers[handlers:]
    if any(_swallows(item.item) for item in node.items):
        frame.state.alive = True


def _is_asked(frame: Frame, node: cst.BaseExpression) -> bool:
    """True of ``disable_jit()`` and ``disable_jit(True)``; what an option decides is as good as off."""
    given = node.args[0].value if isinstance(node, cst.Call) and node.args else None
    return given is None or frame.engine.evaluate(frame, given).const[:1] == (True,)


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


@statement(cst.FunctionDef)
def _function(frame: Frame, node: cst.CSTNode) -> None:
    assert isinstance(node, cst.FunctionDef)
    value = define_function(frame, node)
    assign_name(frame, node.name.value, value)


@statement(cst.ClassDef)
def _class(frame: Frame, node: cst.CSTNode) -> None:
    assert isinstance(node, cst.ClassDef)
    assign_name(frame, node.name.value, define_class(frame, node))
