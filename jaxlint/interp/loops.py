"""Loops: their turns run until nothing new is seen."""

import ast
from collections.abc import Sequence

from jaxlint.interp.assignment import assign
from jaxlint.interp.copies import of_items
from jaxlint.interp.effects import is_fetched
from jaxlint.interp.engine import statement
from jaxlint.interp.fewness import has_few_turns
from jaxlint.interp.flow import execute, truth
from jaxlint.interp.frames import Frame
from jaxlint.interp.generators import note_suspension
from jaxlint.interp.heap import base_of
from jaxlint.interp.heat import Pace, cooler
from jaxlint.interp.iteration import items_of, iterated, loop_pace
from jaxlint.interp.joining import join
from jaxlint.interp.narrowing import narrow
from jaxlint.interp.scopes import assign_name
from jaxlint.interp.states import RawSite, State
from jaxlint.interp.syntax import For, Loop, bind, walk
from jaxlint.interp.values import NOTHING, PYTHON, UNKNOWN, Mapping, Moved, Object, Token, Tuple, Value, replace
from jaxlint.interp.widening import widen, without_constant
from jaxlint.kinds import ARRAY, Kind
from jaxlint.sites import Operation

MAX_TURNS = 6


def _loop(frame: Frame, turn: "Turn") -> None:
    """Run a loop's turns until nothing new is seen, at most MAX_TURNS; then what is not settled is widened.

    The first turn starts from what the loop finds, all others from what a turn leaves: what only the first turn does
    is done once.
    """
    breaks, continues, loops, trying = frame.breaks, frame.continues, frame.loops, frame.trying
    frame.breaks, frame.loops, frame.trying = [], (*loops, frame.pace), ()
    activation = frame.activation
    sites, calls = activation.sites, activation.calls
    found = frame.state.copy()
    head = found.copy()
    first: tuple[dict[tuple[int, Operation], RawSite], set[tuple[int, Pace]]] = ({}, set())
    last = head.fetched
    for n in range(MAX_TURNS):
        frame.state = head.copy()
        frame.state.forget_the_unnamed()
        frame.continues = []
        activation.sites, activation.calls = dict(sites), set(calls)
        turn(frame)
        for state in frame.continues:
            frame.state.merge(state)
        last = frame.state.fetched
        if n >= MAX_TURNS - 2:
            frame.state.names = {k: widen(v) for k, v in frame.state.names.items()}
        if n == 0:
            first = (activation.sites, activation.calls - calls)
            head = frame.state.copy()
            head.fetched -= of_items(frame.engine, head.fetched, turn.item) - found.fetched
            if not head.alive or _settled(head, found):
                break
            _suggest(head, found)
        elif not head.merge(frame.state):
            break
    _add_first_turn(frame, *first, frame.loops[-1], calls)
    exit_state = found
    exit_state.merge(head)
    if head.alive:
        # A loop that never turns is not what anybody writes one for.
        exit_state.fetched = head.fetched | of_items(frame.engine, last, turn.item)
    for state in frame.breaks:
        exit_state.merge(state)
    if not exit_state.alive:
        exit_state = head
    frame.state = exit_state
    frame.breaks, frame.continues, frame.loops, frame.trying = breaks, continues, loops, trying


def _one_by_one(frame: Frame, turns: Sequence["Turn"]) -> None:
    """Run the turns of a loop over few known items, each with its own."""
    breaks, continues, loops, trying = frame.breaks, frame.continues, frame.loops, frame.trying
    frame.breaks, frame.loops, frame.trying = [], (*loops, frame.pace), ()
    for turn in turns:
        frame.continues = []
        turn(frame)
        for state in frame.continues:
            frame.state.merge(state)
        if not frame.state.alive:
            break
    for state in frame.breaks:
        frame.state.merge(state)
    frame.breaks, frame.continues, frame.loops, frame.trying = breaks, continues, loops, trying


def _settled(left: State, found: State) -> bool:
    """True if a turn left all names and host copies as the loop found them: every turn is like the first."""
    return left.fetched == found.fetched and left.names == found.names


def _suggest(head: State, found: State) -> None:
    """Of what a turn leaves unknown, what the loop found under the name suggests the kind."""
    for name, value in found.names.items():
        left = head.names.get(name)
        if left is not None and left is not value and not _is_plain(left):
            head.names[name] = join(value, left)


def _is_plain(value: Value, depth: int = 3) -> bool:
    """True of arrays and scalars whose places are known, of tuples of them, and of what compiled code returned: all of
    its leaves are arrays of the device."""
    if value.is_nothing or (value.unknown and not value.kind):
        return False
    return all(_is_plain_object(o, depth) for o in value.objects)


def _is_plain_object(obj: Object, depth: int) -> bool:
    if isinstance(obj, Moved):
        return obj.numbers and not obj.guess
    return isinstance(obj, Tuple) and depth > 0 and all(_is_plain(v, depth - 1) for v in obj.items)


def _add_first_turn(
    frame: Frame,
    sites: dict[tuple[int, Operation], RawSite],
    calls: set[tuple[int, Pace]],
    outer: Pace,
    before: set[tuple[int, Pace]],
) -> None:
    """Add what the first turn did and later ones do not: it runs as often as the loop, not as its turns."""
    activation = frame.activation
    for key, site in sites.items():
        if key not in activation.sites:
            activation.sites[key] = replace(site, pace=cooler(site.pace, outer))
    later = {callee for callee, _ in activation.calls - before}
    activation.calls |= {(callee, pace if callee in later else cooler(pace, outer)) for callee, pace in calls}


class Turn:
    """One turn of a loop. `item` is what it takes from an iterable."""

    item = NOTHING

    def __call__(self, frame: Frame) -> None:
        """Run it in the frame's state."""
        raise NotImplementedError


class _ForTurn(Turn):
    def __init__(self, node: For, element: Value, pace: Pace) -> None:
        self.node, self.item, self.pace = node, element, pace

    def __call__(self, frame: Frame) -> None:
        place = frame.place(self.node)
        frame.state.fetched = {t for t in frame.state.fetched if t[0] != place}
        element = _new(frame, self.item, (place, frame.activation.number))
        with frame.at_pace(self.pace):
            assign(frame, self.node.target, element)
            execute(frame, self.node.body)


def _new(frame: Frame, value: Value, token: Token, depth: int = 3) -> Value:
    """What a turn takes from the iterable: other arrays than the turn before took, with a host copy if all have one."""
    objects = value.objects
    if depth and any(isinstance(o, Tuple) for o in objects):
        objects = frozenset(
            Tuple(tuple(_new(frame, v, (*token, n), depth - 1) for n, v in enumerate(o.items)))
            if isinstance(o, Tuple)
            else o
            for o in objects
        )
    if not value.kind & ARRAY or is_fetched(frame, value.tokens):
        return replace(value, objects=objects)
    return replace(value, objects=objects, tokens=frozenset((token,)))


class _WhileTurn(Turn):
    def __init__(self, node: ast.While, pace: Pace) -> None:
        self.node, self.pace = node, pace

    def __call__(self, frame: Frame) -> None:
        with frame.at_pace(self.pace):
            test = frame.engine.evaluate(frame, self.node.test)
            truth(frame, self.node.test, test)
            narrow(frame, self.node.test, positive=True)
            execute(frame, self.node.body)


@statement(ast.For, ast.AsyncFor)
def _for(frame: Frame, node: ast.AST) -> None:
    assert isinstance(node, ast.For | ast.AsyncFor)
    iterable = frame.engine.evaluate(frame, node.iter)
    if isinstance(node, ast.AsyncFor):
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
    frame.loop_names = saved | targets | _counters(node)
    frame.loop_bound = bound | _bound_in(frame, node)
    if element.is_nothing and not iterable.is_nothing:
        element = PYTHON if iterable.kind == Kind.PYTHON else UNKNOWN
    rekeyed, frame.rekeyed = frame.rekeyed, {}
    brief = frame.brief
    frame.brief = (brief or frame.pace) if has_few_turns(node.iter) else None
    items = items_of(frame, node.iter, iterable)
    if items:
        _one_by_one(frame, [_ForTurn(node, item, pace) for item in items])
    else:
        _loop(frame, _ForTurn(node, element, pace))
    frame.brief = brief
    _replace_rekeyed(frame, node)
    frame.rekeyed = rekeyed
    frame.loop_names, frame.loop_bound = saved, bound
    if frame.state.alive:
        execute(frame, node.orelse)


def _replace_rekeyed(frame: Frame, node: For) -> None:
    """After ``for k in m: m[k] = ...`` every value of m is what the loop stored."""
    for name, value in frame.rekeyed.items():
        held = frame.state.names.get(name)
        if (
            held is None
            or not any(isinstance(n, ast.Name) and n.id == name for n in walk(node.iter))
            or len(value.kind) != 1
        ):
            continue
        objects = frozenset(
            Moved(base_of(o), value.kind) if isinstance(base_of(o), Mapping) else o for o in held.objects
        )
        kind = value.kind if held.kind else held.kind
        assign_name(frame, name, replace(held, kind=kind, objects=objects, tokens=frozenset()))


@statement(ast.While)
def _while(frame: Frame, node: ast.AST) -> None:
    assert isinstance(node, ast.While)
    bound = frame.loop_bound
    frame.loop_bound = bound | _bound_in(frame, node)
    saved, frame.loop_names = frame.loop_names, frame.loop_names | _counters(node)
    _loop(frame, _WhileTurn(node, _marked(frame, node, Pace.ONCE if frame.unrolls else Pace.LOOPED)))
    frame.loop_names, frame.loop_bound = saved, bound
    if frame.state.alive:
        execute(frame, node.orelse)


def _counters(node: Loop) -> set[str]:
    """The names that a loop counts up itself, at each of its turns: ``n += 1``."""
    found: set[str] = set()
    for part in node.body:
        match part:
            case ast.AugAssign(target=ast.Name(id=name), op=ast.Add(), value=ast.Constant(value=int())):
                found.add(name)
    return found


def _bound_in(frame: Frame, node: Loop) -> frozenset[str]:
    return frame.module.bound_in(node)


def _marked(frame: Frame, node: ast.AST, pace: Pace) -> Pace:
    mark = frame.module.mark_of(node)
    if mark == "cold":
        return Pace.ONCE
    return Pace.LOOPED if mark == "hot" and not frame.staged else pace
