"""From the sites of all activations to those that are reported: one a place, with its position and heat."""

import ast
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from jaxlint.interp import uses
from jaxlint.interp.agreement import Agreement
from jaxlint.interp.effects import SHOWING, UPLOADS
from jaxlint.interp.engine import Engine
from jaxlint.interp.heat import Pace, cooler, spread
from jaxlint.interp.ledger import Used
from jaxlint.interp.program import Module
from jaxlint.interp.states import GivenUp, RawSite
from jaxlint.interp.values import Origin
from jaxlint.interp.values import Place as Numbered
from jaxlint.sites import Confidence, Heat, Note, Operand, Operation, Site, Span
from jaxlint.source.positions import Place

MAX_NOTES = 6
MAX_OPERANDS = 8
RETURNED = "a round trip: the data was fetched from the device here"


@dataclass(frozen=True, slots=True)
class Flow:
    """Where fetched values go: by fetch the strongest use, by upload the fetch that its data comes from."""

    used: Mapping[Numbered, Used]
    returns: Mapping[int, Numbered]


def sites(engine: Engine) -> Iterable[Site]:
    """The sites in the requested files, each with its hottest pace and surest reading."""
    engine.forget_the_uncalled()
    chosen = _chosen(engine)
    for site, _ in list(chosen.values()):
        if site.operation is Operation.PRINT and site.traced:
            # A fetch at the same place (under disable_jit) says more than the print of a tracer.
            key_ = (site.module.path, site.module.place(site.node).number, site.operation)
            if (*key_, False) in chosen:
                del chosen[*key_, True]
    warmed = _warmed(engine)
    pinned = engine.pinned_to_cpu
    flow = Flow(engine.ledger.settled(), engine.ledger.returns())
    for site, pace in chosen.values():
        if site.module.path in pinned and not site.operation.value.startswith("guard") and not site.traced:
            continue
        if site.operation is Operation.CACHE and site.owner in warmed:
            continue
        made = _site(engine, site, pace.heat, flow)
        if made is not None:
            yield made


def given_up(engine: Engine) -> tuple[GivenUp, ...]:
    """What was not analysed to its end, or is told nothing of, with its line: 0 where the text does not tell."""
    every = (*engine.abandoned.values(), *engine.too_deep.values(), *engine.pinned_to_cpu.values())
    places = ((a, _place(a.module, a.node)) for a in every)
    found = {GivenUp(a.module.path, 0 if at is None else at.line, a.name, a.reason): None for a, at in places}
    return tuple(found)


def _chosen(engine: Engine) -> dict[tuple[str, int, Operation, bool], tuple[RawSite, Pace]]:
    """Of each site what is reported: the hottest of the readings that are no guess, the surest of these.

    What is sure of a cold run says nothing of a hot one: heat and confidence come from the same reading.
    """
    paces, certain = _paces(engine)
    eager, clear, agreement = _eager(engine), _clear(engine), Agreement(engine)
    chosen: dict[tuple[str, int, Operation, bool], tuple[RawSite, Pace]] = {}
    for activation in engine.activations:
        outer = paces.get(activation.number, Pace.ONCE)
        sure = certain.get(activation.number, Pace.ONCE)
        for site in activation.sites.values():
            if not site.module.requested:
                continue
            if site.if_eager and activation.number not in eager:
                site.confidence = Confidence.LOW
            # Of a function that is traced by itself all arguments are tracers, whatever they are and whoever calls it;
            # and what only shows a tracer works, so that it may well be what a caller does.
            blurred = site.traced and not activation.traced and site.operation not in SHOWING
            if activation.number not in clear and (blurred or site.confidence is Confidence.MEDIUM):
                site.confidence = Confidence.LOW
            around = sure if site.confidence >= Confidence.MEDIUM else outer
            pace = Pace.ONCE if site.traced else around.then(site.pace)
            site.confidence = agreement.confidence(activation, site, pace.heat)
            key = (site.module.path, site.module.place(site.node).number, site.operation, site.traced)
            old = chosen.get(key)
            if old is None or _rank(site, pace) > _rank(*old):
                chosen[key] = (site, pace)
    return chosen


def _clear(engine: Engine) -> set[int]:
    """The activations that one set of arguments leads to: those that only joined ones call are not among them."""
    callees = {callee for activation in engine.activations for callee, _ in activation.calls}
    todo = [a.number for a in engine.activations if a.number not in callees and not a.joined]
    clear = set(todo)
    while todo:
        for callee, _ in engine.by_number[todo.pop()].calls:
            if callee not in clear and not engine.by_number[callee].joined:
                clear.add(callee)
                todo.append(callee)
    return clear


def _rank(site: RawSite, pace: Pace) -> tuple[bool, Heat, Confidence]:
    return site.confidence >= Confidence.MEDIUM, pace.heat, site.confidence


def _warmed(engine: Engine) -> set[Numbered]:
    """The functions that some __init__ calls outside of any trace: what they memoise is there before a trace can be."""
    found: set[Numbered] = set()
    for activation in engine.activations:
        if activation.info is not None and activation.info.name in {"__init__", "__post_init__"}:
            for callee, _ in activation.calls:
                info = engine.by_number[callee].info
                if info is not None and not engine.by_number[callee].under_trace:
                    found.add(info.place)
    return found


def _eager(engine: Engine) -> set[int]:
    """The activations that certainly run eagerly: that do what fails under a trace, their callers and their callees."""
    callers: dict[int, set[int]] = {}
    for activation in engine.activations:
        for callee, _ in activation.calls:
            callers.setdefault(callee, set()).add(activation.number)
    eager: set[int] = set()
    todo = [a.number for a in engine.activations if a.eager or a.info is None]
    while todo:
        number = todo.pop()
        if number not in eager:
            eager.add(number)
            todo.extend(c for c in callers.get(number, ()) if engine.by_number[c].info is not None)
    todo = [n for n in eager if engine.by_number[n].info is not None]
    while todo:
        for callee, _ in engine.by_number[todo.pop()].calls:
            if callee not in eager and not engine.by_number[callee].traced:
                eager.add(callee)
                todo.append(callee)
    return eager


def _place(module: Module, node: ast.AST) -> Place | None:
    """Where a node stands; None of what stands nowhere."""
    try:
        return module.places.of(node)
    except ValueError:
        return None


def _chain(origin: Origin | None) -> list[Origin]:
    out: list[Origin] = []
    while origin is not None and len(out) < MAX_NOTES:
        out.append(origin)
        origin = origin.before
    return out


def _site(engine: Engine, raw: RawSite, heat: Heat, flow: Flow) -> Site | None:
    span = _place(raw.module, raw.node)
    if span is None:
        return None
    operands = tuple(
        Operand(
            value.kind,
            "" if at is None else raw.module.text_of(at),
            None if at is None or (place := _place(raw.module, at)) is None else Span(raw.module.path, *place),
            raw.whole,
            raw.tree,
        )
        for value, at in raw.operands[:MAX_OPERANDS]
    )
    notes: list[Note | None] = []
    if raw.operands:
        chain = reversed(_chain(raw.operands[0][0].origin))
        notes += [_note(engine, origin.place, origin.message) for origin in chain]
    used = None if raw.traced else _used(raw, flow)
    if not raw.traced and raw.operation in UPLOADS and id(raw.node) in flow.returns:
        notes.append(_note(engine, flow.returns[id(raw.node)], RETURNED))
    module = None if used is None else engine.project.at(used.path)
    if used is not None and module is not None:
        notes.append(_note_at(module, used.node, used.message(looped=heat is Heat.HOT), after=True))
    return Site(
        Span(raw.module.path, *span), raw.operation, raw.callee, operands, heat, raw.traced, raw.confidence,
        tuple(dict.fromkeys(note for note in notes if note is not None)), raw.detail,
        None if used is None else used.use.word,
    )  # fmt: skip


def _used(raw: RawSite, flow: Flow) -> Used | None:
    """What becomes of the value that a site fetches, unless the fetch itself is the stronger use."""
    used = flow.used.get(raw.module.place(raw.node)) if raw.operation in uses.FETCHES else None
    own = uses.intrinsic(raw.operation, raw.callee)
    return None if used is None or (own is not None and used.use <= own) else used


def _note(engine: Engine, place: Numbered, message: str) -> Note | None:
    module = engine.project.at(place.path)
    return None if module is None else _note_at(module, module.nodes[place.number], message)


def _note_at(module: Module, node: ast.AST, message: str, *, after: bool = False) -> Note | None:
    place = _place(module, node)
    return None if place is None else Note(module.path, place.line, place.column, message, after=after)


def _paces(engine: Engine) -> tuple[dict[int, Pace], dict[int, Pace]]:
    """The pace of each activation: the hottest that may be, and the one that is certain.

    They differ below joined activations: what those call as one of several functions is certain to run only as often
    as the coolest of their callers asks.
    """
    graph = {a.number: sorted(a.calls, key=lambda c: (c[0], c[1].value)) for a in engine.activations}
    callees = {c for calls_ in graph.values() for c, _ in calls_}
    for activation in engine.activations:
        info = activation.info
        if activation.entered and info is not None and info.enclosing_class is not None:
            # A special method is never meant by its name alone: ``super().__init__()`` says nothing of other classes.
            for caller, pace in () if info.name.startswith("__") else engine.unresolved.get(info.name, ()):
                if caller not in graph:
                    continue
                graph[caller].append((activation.number, pace))
                if engine.by_number[caller].joined:
                    engine.by_number[caller].chosen.add(activation.number)
    roots = [a.number for a in engine.activations if a.number not in callees]
    fixed: dict[int, Pace] = {}
    for activation in engine.activations:
        if activation.info is not None:
            mark = activation.module.mark_of(activation.info.node)
            if mark == "hot":
                fixed[activation.number] = Pace.LOOPED
            elif mark == "cold":
                fixed[activation.number] = Pace.ONCE
    paces = spread(roots, graph, fixed)
    blurred = {a.number: a.chosen for a in engine.activations if a.joined and a.chosen}
    coolest: dict[int, Pace] = {}
    for caller, calls_ in graph.items():
        for callee, local in calls_:
            if callee in blurred and caller in paces:
                pace = paces[caller].then(local)
                coolest[callee] = cooler(coolest.get(callee, pace), pace)
    seeds = [(c, coolest[n].then(local)) for n, those in blurred.items() for c, local in graph[n] if c in those]
    for number, those in blurred.items():
        graph[number] = [(c, local) for c, local in graph[number] if c not in those]
    graph[-1] = seeds
    return paces, spread([*roots, -1], graph, fixed)
