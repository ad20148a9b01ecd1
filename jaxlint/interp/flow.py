"""Statements: how control and values flow through blocks, branches and try; assignments, and ways out. Loops, with and
match are in `loops`, `managers` and `patterns`."""

import ast
from collections.abc import Sequence as Seq

from jaxlint.interp import effects, guards, uses
from jaxlint.interp.assignment import assign, refine_item, remove
from jaxlint.interp.definitions import define_class, define_function
from jaxlint.interp.engine import statement
from jaxlint.interp.firsts import made_in_one_turn, made_once
from jaxlint.interp.frames import Attempt, Frame
from jaxlint.interp.gates import gate_of, gated
from jaxlint.interp.guessing import guess
from jaxlint.interp.heap import element_of, is_container, leaves
from jaxlint.interp.heat import Gate, Pace
from jaxlint.interp.joining import join
from jaxlint.interp.mappings import doubted_array
from jaxlint.interp.narrowing import narrow
from jaxlint.interp.operators import binary, in_place
from jaxlint.interp.raising import is_taken, raised_by
from jaxlint.interp.scopes import assign_name
from jaxlint.interp.states import State
from jaxlint.interp.syntax import DEFINITIONS, LOOPS, Suite, children, walk
from jaxlint.interp.values import (
    NONE,
    NOTHING,
    NULL,
    UNKNOWN,
    Instance,
    Moved,
    Sequence,
    Value,
    constant,
    of,
    replace,
)
from jaxlint.kinds import ARRAY, Kind
from jaxlint.sites import Operation

_WAYS_OUT = {ast.Break, ast.Return, ast.Raise}


def execute(frame: Frame, node: ast.stmt | Suite) -> None:
    """Run a statement or a suite of them."""
    if not isinstance(node, ast.AST):
        _block(frame, node)
        return
    engine = frame.engine
    engine.budget.step()
    executor = engine.statements.get(type(node))
    if executor is not None:
        executor(frame, node)


def _block(frame: Frame, body: Suite) -> None:
    before = frame.pace
    frame.pace = _way_out(frame, body)
    for n, node in enumerate(body):
        if not frame.state.alive:
            break
        if type(node) in _WAYS_OUT:
            frame.pace = _way_out(frame, (node,))
        execute(frame, node)
        if type(node) is ast.If and frame.state.alive and not frame.staged and _leaves(node.body):
            frame.pace = frame.pace.then(_of_the_rest(frame, node, body[n + 1 :]))
    frame.pace = before


def _way_out(frame: Frame, body: Suite) -> Pace:
    """The pace of a block: one that ends by leaving its loops runs as often as those loops do, not as their turns."""
    last = body[-1] if body else None
    if type(last) not in _WAYS_OUT or frame.staged or any(map(_continues, body)):
        return frame.pace
    if isinstance(last, ast.Raise):
        if any(map(_returns, body)):
            return frame.pace
        return frame.pace if is_taken(frame, raised_by(frame, last)) else Pace.SINGLE
    if not frame.loops:
        return frame.pace
    return frame.loops[-1] if isinstance(last, ast.Break) else frame.loops[0]


_HOLDS_NONE = {*LOOPS, *DEFINITIONS, ast.ClassDef, ast.Expr, ast.Return, ast.Assign, ast.AugAssign}


def _continues(node: ast.AST) -> bool:
    """True if a turn may end within the statement and another begin."""
    kind = type(node)
    if kind is ast.Continue:
        return True
    if kind in _HOLDS_NONE or isinstance(node, ast.expr):
        return False
    return any(map(_continues, children(node)))


def _returns(node: ast.AST) -> bool:
    """True if the function may go back to its caller within the statement, or the loop end there."""
    kind = type(node)
    if kind is ast.Return or kind is ast.Break:
        return True
    if kind in _NO_WAY or isinstance(node, ast.expr):
        return False
    return any(map(_returns, children(node)))


_NO_WAY = _HOLDS_NONE - {*LOOPS, ast.Return}


def _of_the_rest(frame: Frame, node: ast.If, rest: Suite) -> Pace:
    """The pace of what follows ``if step % n: continue`` and ``if self.data is not None: return``."""
    if node.orelse:
        return Pace.ONCE
    if gate_of(frame, node.test) is Gate.FAILED:
        return Pace.GATED
    return Pace.SINGLE if made_once(frame, node.test, rest, holds=False) else Pace.ONCE


def _leaves(body: Suite) -> bool:
    return isinstance(body[-1], ast.Continue | ast.Return | ast.Break | ast.Raise)


@statement(ast.Expr)
def _expression_statement(frame: Frame, node: ast.AST) -> None:
    assert isinstance(node, ast.Expr)
    value = frame.engine.evaluate(frame, node.value)
    if value.is_nothing and isinstance(node.value, ast.Call) and not is_taken(frame, None):
        _only_raised(frame, node.value)
    guards.discarded(frame, node.value, value)


def _only_raised(frame: Frame, node: ast.Call) -> None:
    """The called function does nothing but raise: what is made ready for it is made once."""
    sites = frame.activation.sites
    inside = {id(n) for n in walk((*node.args, *node.keywords))}
    for key, site in sites.items():
        if id(site.node) in inside:
            sites[key] = replace(site, pace=Pace.SINGLE)


@statement(ast.Assign)
def _assign(frame: Frame, node: ast.AST) -> None:
    assert isinstance(node, ast.Assign)
    _assign_to(frame, node.targets, node.value)


def _assign_to(frame: Frame, targets: Seq[ast.expr], node: ast.expr) -> None:
    value = gated(frame, node, frame.engine.evaluate(frame, node))
    for target in targets:
        assign(frame, target, value)
        if isinstance(node, ast.Dict):
            _remember_items(frame, target, node)
    guards.assigned(frame, node, value)


def _remember_items(frame: Frame, target: ast.expr, node: ast.Dict) -> None:
    """What a new dict holds until something else is stored: the heap alone only knows all that it ever held."""
    for name, value in frame.displayed.pop(id(node), {}).items():
        if not name.startswith("*"):
            refine_item(frame, target, constant(name), None, value)


@statement(ast.AnnAssign)
def _annotated_assign(frame: Frame, node: ast.AST) -> None:
    assert isinstance(node, ast.AnnAssign)
    if node.value is not None:
        _assign_to(frame, (node.target,), node.value)


@statement(ast.AugAssign)
def _augmented_assign(frame: Frame, node: ast.AST) -> None:
    assert isinstance(node, ast.AugAssign)
    engine = frame.engine
    left = engine.evaluate(frame, node.target)
    right = engine.evaluate(frame, node.value)
    lists = [o for o in left.objects if isinstance(o, Sequence)]
    if lists and isinstance(node.op, ast.Add):
        right = uses.stored(frame, node, right, node.target)
        for obj in lists:
            engine.heap.write(obj, "*", element_of(engine.heap, right))
        if not left.kind and is_container(left):
            return
    value = in_place(frame, node, left, right)
    if value is None:
        value = binary(frame, node, left, right, node.op, (node.target, node.value))
    assign(frame, node.target, value)


@statement(ast.Return)
def _return(frame: Frame, node: ast.AST) -> None:
    assert isinstance(node, ast.Return)
    value = NONE if node.value is None else gated(frame, node.value, frame.engine.evaluate(frame, node.value))
    activation = frame.activation
    if frame.traced and frame.info is not None and frame.info.place in frame.engine.memoised and not _of_trace(frame):
        held = [v for v in leaves(frame.engine.heap, value) if v.kind.must_be(Kind.TRACER)]
        if held:
            effects.record(frame, node, Operation.CACHE, None, [(v, node.value) for v in held[:1]], traced=True)
    if value.kind & ARRAY and effects.is_fetched(frame, value.tokens) and not _is_parameter(value):
        activation.result_fetched = True
    activation.result = join(activation.result, replace(value, tokens=frozenset()) if value.tokens else value)
    frame.note_end()
    _leave(frame)


def _of_trace(frame: Frame) -> bool:
    """True of a property of an object that a trace was given: it is rebuilt in there, with what it keeps."""
    receiver = NOTHING if frame.receiver is None else frame.receiver
    return bool(receiver.objects) and all(isinstance(o, Moved) for o in receiver.objects)


def _leave(frame: Frame) -> None:
    """Nothing runs from here on but the handlers and the ends of the try statements around."""
    if frame.leaving is not None:
        frame.leaving.append(frame.state.copy())
    frame.state.alive = False


def _is_parameter(value: Value) -> bool:
    return any(t[0] == "parameter" for t in value.tokens)


@statement(ast.Raise)
def _raise(frame: Frame, node: ast.AST) -> None:
    assert isinstance(node, ast.Raise)
    for part in (node.exc, node.cause):
        if part is not None:
            frame.engine.evaluate(frame, part)
    _leave(frame)


@statement(ast.Assert)
def _assert(frame: Frame, node: ast.AST) -> None:
    assert isinstance(node, ast.Assert)
    truth(frame, node.test, frame.engine.evaluate(frame, node.test))
    if node.msg is not None:
        # Evaluated only on failure, with which a program ends as a rule: what it fetches is no matter, and what it
        # calls is called once.
        saved, frame.pace = frame.pace, frame.pace if is_taken(frame, AssertionError.__mro__) else Pace.SINGLE
        sites, state = dict(frame.activation.sites), frame.state.copy()
        frame.engine.evaluate(frame, node.msg)
        frame.activation.sites, frame.state = sites, state
        frame.pace = saved
    narrow(frame, node.test, positive=True)


@statement(ast.Delete)
def _delete(frame: Frame, node: ast.AST) -> None:
    assert isinstance(node, ast.Delete)
    for target in node.targets:
        remove(frame, target)


@statement(ast.Break)
def _break(frame: Frame, node: ast.AST) -> None:
    frame.breaks.append(frame.state.copy())
    _leave(frame)


@statement(ast.Continue)
def _continue(frame: Frame, node: ast.AST) -> None:
    frame.continues.append(frame.state.copy())
    _leave(frame)


def truth(frame: Frame, node: ast.AST, value: Value, asked: Value | None = None) -> bool | None:
    """Ask a value for its truth: a fetch of an array. The answer where it is known, else None. `asked` is the operand
    that is asked, where the value is that of ``and`` or ``or`` so far."""
    asked = value if asked is None else asked
    while isinstance(node, ast.BoolOp):
        # The operands before the last were asked when the operation ran.
        asked, node = frame.rights.get(id(node), asked), node.values[-1]
    if asked.kind & ARRAY and not (asked.kind is Kind.TRACER and NULL in asked.objects):
        if is_container(asked):
            # A tree of which only one branch is asked: where it is no array, its length answers.
            asked = guess(asked, frame.origin(node, "an array or a container of arrays"))
        elif NULL in asked.objects and asked.unknown and not asked.boolean:
            # What asks so whether something is there has a container there, or an object: an array has no truth.
            asked = guess(asked, frame.origin(node, "something that may be absent"))
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


@statement(ast.If)
def _if(frame: Frame, node: ast.AST) -> None:
    assert isinstance(node, ast.If)
    engine = frame.engine
    test = engine.evaluate(frame, node.test)
    known = truth(frame, node.test, test)
    gate = Gate.NONE if frame.staged or known is not None else gate_of(frame, node.test)
    before = frame.state.copy()
    if known is False:
        frame.state.alive = False
    else:
        narrow(frame, node.test, positive=True)
        first = made_once(frame, node.test, node.body, holds=True)
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
        with frame.at_pace(Pace.GATED if gate is Gate.FAILED else Pace.ONCE):
            execute(frame, node.orelse)
    after.merge(frame.state)
    frame.state = after


@statement(ast.Try, ast.TryStar)
def _try(frame: Frame, node: ast.AST) -> None:
    assert isinstance(node, ast.Try | ast.TryStar)
    before = frame.state.copy()
    held = guards.broad_handlers(frame, node)
    frame.handlers.extend(held)
    tolerant = guards.expects_tracers(node)
    frame.tolerant += tolerant
    outer, frame.leaving = frame.leaving, []
    around, frame.trying = frame.trying, (*frame.trying, Attempt(node, frame)) if node.handlers else frame.trying
    execute(frame, node.body)
    frame.trying = around
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
    if after.alive:
        execute(frame, node.orelse)
        after = frame.state
    for clause in node.handlers:
        frame.state = raised.copy()
        if clause.type is not None:
            frame.engine.evaluate(frame, clause.type)
        if clause.name is not None:
            assign_name(frame, clause.name, UNKNOWN)
        execute(frame, clause.body)
        after.merge(frame.state)
    left, frame.leaving = frame.leaving, outer
    if outer is not None:
        outer.extend(left)
    if node.finalbody:
        _finally(frame, node.finalbody, after, left)
    else:
        frame.state = after


def _finally(frame: Frame, body: Suite, after: State, left: Seq[State]) -> None:
    """Run the end of a try statement: for the ways out of it, and for what goes on behind it."""
    if left:
        frame.state = left[0].copy()
        for state in left[1:]:
            frame.state.merge(state)
        execute(frame, body)
    frame.state = after
    if after.alive or not left:
        alive, after.alive = after.alive, True
        execute(frame, body)
        frame.state.alive = frame.state.alive and alive


@statement(*DEFINITIONS)
def _function(frame: Frame, node: ast.AST) -> None:
    assert isinstance(node, DEFINITIONS)
    value = define_function(frame, node)
    assign_name(frame, node.name, value)


@statement(ast.ClassDef)
def _class(frame: Frame, node: ast.AST) -> None:
    assert isinstance(node, ast.ClassDef)
    assign_name(frame, node.name, define_class(frame, node))
