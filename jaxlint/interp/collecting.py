"""From the sites of all activations to those that are reported: one a place, with its position and heat."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

import libcst as cst

from jaxlint.interp import uses
from jaxlint.interp.engine import Engine
from jaxlint.interp.heat import Pace, cooler, spread
from jaxlint.interp.ledger import Used
from jaxlint.interp.states import Abandoned, GivenUp, RawSite
from jaxlint.interp.values import Origin, Place
from jaxlint.sites import Confidence, Heat, Note, Operand, Operation, Site, Span

MAX_NOTES = 6
MAX_OPERANDS = 8
UPLOADS = {
    Operation.COMPILED_CALL, Operation.CONSTANT_CALL, Operation.UPLOAD, Operation.EAGER_CALL, Operation.MIXED,
    Operation.SCALAR_OPERAND, Operation.EXPLICIT_UPLOAD,
}  # fmt: skip
RETURNED = "a round trip: the data was fetched from the device here"


Positions = Callable[[cst.Module, Sequence[cst.CSTNode]], dict[int, tuple[int, int, int, int]]]

"""Where nodes stand: by ``id``, line, column, end line and end column, from 1, the end exclusive."""

Spans = Mapping[int, tuple[int, int, int, int]]


@dataclass(frozen=True, slots=True)
class Flow:
    """Where fetched values go: by fetch the strongest use, by upload the fetch that its data comes from."""

    used: Mapping[Place, Used]
    returns: Mapping[int, Place]


def sites(engine: Engine, positions: Positions) -> Iterable[Site]:
    """The sites in the requested files, each with its hottest pace and surest reading."""
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
    wanted: dict[str, dict[int, cst.CSTNode]] = {}
    for site, _ in chosen.values():
        nodes = wanted.setdefault(site.module.path, {})
        nodes[id(site.node)] = site.node
        nodes.update((id(at), at) for _, at in site.operands[:MAX_OPERANDS] if at is not None)
        place = site.module.place(site.node)
        places = [origin.place for value, _at in site.operands[:1] for origin in _chain(value.origin)]
        if id(site.node) in flow.returns:
            places.append(flow.returns[id(site.node)])
        for told in places:
            module = engine.project.at(told.path)
            if module is not None:
                node = module.nodes[told.number]
                wanted.setdefault(told.path, {})[id(node)] = node
        used = flow.used.get(place)
        if used is not None:
            wanted.setdefault(used.path, {})[id(used.node)] = used.node
    spans: dict[int, tuple[int, int, int, int]] = {}
    for path, nodes in wanted.items():
        module = engine.project.at(path)
        assert module is not None
        try:
            spans.update(_placed(positions, module.tree, list(nodes.values())))
        except RecursionError:
            # What has no place is not reported.
            reason = "nested too deeply for this Python"
            engine.abandoned[path, -1] = Abandoned(module, module.tree, "<module>", reason)
    for site, pace in chosen.values():
        if site.module.path in pinned and not site.operation.value.startswith("guard") and not site.traced:
            continue
        if site.operation is Operation.CACHE and site.owner in warmed:
            continue
        made = _site(engine, site, pace.heat, spans, flow)
        if made is not None:
            yield made


def given_up(engine: Engine, positions: Positions) -> tuple[GivenUp, ...]:
    """What was not analysed to its end, with its line: 0 where the text does not tell."""
    by_file: dict[str, list[Abandoned]] = {}
    for abandoned in (*engine.abandoned.values(), *engine.too_deep.values()):
        by_file.setdefault(abandoned.module.path, []).append(abandoned)
    found: dict[GivenUp, None] = {}
    for path, group in by_file.items():
        try:
            spans = _placed(positions, group[0].module.tree, [a.node for a in group])
        except RecursionError:
            spans = {}
        found.update((GivenUp(path, spans.get(id(a.node), (0,))[0], a.name, a.reason), None) for a in group)
    return tuple(found)


def _chosen(engine: Engine) -> dict[tuple[str, int, Operation, bool], tuple[RawSite, Pace]]:
    """Of each site what is reported: the hottest of the readings that are no guess, the surest of these.

    What is sure of a cold run says nothing of a hot one: heat and confidence come from the same reading.
    """
    paces, certain = _paces(engine)
    eager, clear = _eager(engine), _clear(engine)
    chosen: dict[tuple[str, int, Operation, bool], tuple[RawSite, Pace]] = {}
    for activation in engine.activations:
        outer = paces.get(activation.number, Pace.ONCE)
        sure = certain.get(activation.number, Pace.ONCE)
        for site in activation.sites.values():
            if not site.module.requested:
                continue
            if site.if_eager and activation.number not in eager:
                site.confidence = Confidence.LOW
            # Of a function that is traced by itself all arguments are tracers, whatever they are and whoever calls it.
            blurred = site.traced and not activation.traced
            if activation.number not in clear and (blurred or site.confidence is Confidence.MEDIUM):
                site.confidence = Confidence.LOW
            around = sure if site.confidence >= Confidence.MEDIUM else outer
            pace = Pace.ONCE if site.traced else around.then(site.pace)
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


def _warmed(engine: Engine) -> set[Place]:
    """The functions that some __init__ calls outside of any trace: what they memoise is there before a trace can be."""
    found: set[Place] = set()
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


def _placed(positions: Positions, tree: cst.Module, nodes: list[cst.CSTNode]) -> dict[int, tuple[int, int, int, int]]:
    """The positions of nodes. One that stands nowhere (parsed out of a string) costs no other its own."""
    try:
        return positions(tree, nodes)
    except ValueError:
        spans: dict[int, tuple[int, int, int, int]] = {}
        for node in nodes:
            with suppress(ValueError):
                spans.update(positions(tree, [node]))
        return spans


def _chain(origin: Origin | None) -> list[Origin]:
    out: list[Origin] = []
    while origin is not None and len(out) < MAX_NOTES:
        out.append(origin)
        origin = origin.before
    return out


def _site(engine: Engine, raw: RawSite, heat: Heat, spans: Spans, flow: Flow) -> Site | None:
    span = spans.get(id(raw.node))
    if span is None:
        return None
    operands = tuple(
        Operand(
            value.kind,
            "" if at is None else raw.module.text_of(at),
            Span(raw.module.path, *spans[id(at)]) if id(at) in spans else None,
            raw.whole,
        )
        for value, at in raw.operands[:MAX_OPERANDS]
    )
    notes: list[Note | None] = []
    if raw.operands:
        chain = reversed(_chain(raw.operands[0][0].origin))
        notes += [_note(engine, spans, origin.place, origin.message) for origin in chain]
    used = None if raw.traced else _used(raw, flow)
    if not raw.traced and raw.operation in UPLOADS and id(raw.node) in flow.returns:
        notes.append(_note(engine, spans, flow.returns[id(raw.node)], RETURNED))
    if used is not None and (at := spans.get(id(used.node))) is not None:
        message = used.message(looped=heat is Heat.HOT)
        notes.append(Note(used.path, at[0], at[1], message, after=True))
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


def _note(engine: Engine, spans: Spans, place: Place, message: str) -> Note | None:
    module = engine.project.at(place.path)
    span = None if module is None else spans.get(id(module.nodes[place.number]))
    return None if span is None else Note(place.path, span[0], span[1], message)


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
