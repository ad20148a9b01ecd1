"""The one door of the interpreter: files in, sites out."""

import ast
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from jaxlint.interp import (
    attributes,
    calls,
    classes,
    comprehensions,
    concurrency,
    containers,
    control,
    decorators,
    definitions,
    devices,
    dispatch,
    displays,
    effects,
    entering,
    explicit,
    expressions,
    flow,
    frameworks,
    generators,
    gradients,
    guards,
    imports,
    loops,
    managers,
    metrics,
    operators,
    patterns,
    standard,
    subscripts,
    traces,
    transforms,
    trees,
)
from jaxlint.interp.budget import GaveUp
from jaxlint.interp.calls import run_again
from jaxlint.interp.cells import Reads
from jaxlint.interp.collecting import given_up, sites
from jaxlint.interp.engine import Engine
from jaxlint.interp.frames import Frame, Mode
from jaxlint.interp.heap import DEFINED
from jaxlint.interp.models import Models
from jaxlint.interp.program import FunctionInfo, Loader, Module
from jaxlint.interp.project import Project
from jaxlint.interp.states import Activation, GivenUp, State
from jaxlint.interp.values import Function, of
from jaxlint.sites import Operation, Site
from jaxlint.source.stack import on_a_deep_stack

PARTS = (
    comprehensions, concurrency, containers, control, decorators, definitions, devices, dispatch, displays, explicit,
    expressions, flow, frameworks, generators, gradients, guards, imports, loops, managers, metrics, operators,
    patterns, standard, traces, transforms, trees,
)  # fmt: skip
"""The modules that register what they hold with the engine when they are imported."""

MAX_PASSES = 4


@dataclass(frozen=True, slots=True)
class Analysis:
    """The sites in the requested files, in no particular order, and the functions that were given up."""

    sites: tuple[Site, ...]
    given_up: tuple[GivenUp, ...]


def analyse(
    roots: Sequence[str],
    requested: Sequence[str],
    paths: Sequence[str],
    load: Loader,
    models: Models,
) -> Analysis:
    """Analyse the files `roots`, and of `paths` those that they bring in by imports; give the sites in `requested`.

    `roots` are the requested files that can matter by themselves: those that speak of a library that the models know.
    """
    project = Project(paths, requested, load, models.libraries)
    engine = Engine(project, models)
    engine.call = calls.call
    engine.attribute = attributes.attribute
    engine.subscript = subscripts.subscript
    engine.execute = flow.execute
    engine.truth = flow.truth
    engine.make_record = classes.make_record
    engine.run_module = lambda module: _run_module(engine, module)
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(max(limit, 20_000))
    try:
        _passes(engine, roots)
    finally:
        sys.setrecursionlimit(limit)
    _unentered_guards(engine)
    analysis = Analysis(tuple(sites(engine)), given_up(engine))
    engine.forget()
    return analysis


def _passes(engine: Engine, roots: Sequence[str]) -> None:
    # All at once: each deep stack leaves behind memory of its own.
    loaded = on_a_deep_stack(lambda: [engine.project.at(path) for path in roots])
    modules = [module for module in loaded if module is not None]
    for number in range(MAX_PASSES):
        engine.forget_the_uncalled()
        stale = _stale(engine)
        _renew(engine, stale)
        for module in modules:
            _run_module(engine, module)
        called = {name for m in modules for name in m.called_names}
        entered = len(engine.entered)
        for spared in (called, set[str]()):
            for module in modules:
                for info in _unreached(engine, module):
                    if info.name not in spared:
                        _enter(engine, info)
        if number and not stale and len(engine.entered) == entered:
            break


def _unreached(engine: Engine, module: Module) -> Iterator[FunctionInfo]:
    """The functions of a module that nothing entered yet, those included that entering the others defines, those that
    a library calls besides, and those entered with what is known better by now."""
    at = 0
    while at < len(module.definitions):
        info = module.definitions[at]
        at += 1
        reads = engine.entered.get(info.place)
        unreached = info.place not in engine.reached or _is_hook(engine, info)
        if unreached if reads is None else _outdated(reads):
            yield info


def _is_hook(engine: Engine, info: FunctionInfo) -> bool:
    found = () if info.enclosing_class is None else engine.classes_at.get(info.enclosing_class, ())
    return any(classes.hook_of(engine, cls, info) is not None for cls in found)


def _outdated(reads: Reads) -> bool:
    return any(place.changed > when for place, when in reads.items())


def _stale(engine: Engine) -> list[Activation]:
    """The activations that looked at something before it changed, marked as not finished."""
    stale = [a for a in engine.activations if a.finished and _outdated(a.reads)]
    for activation in stale:
        activation.finished = False
    return stale


def _renew(engine: Engine, stale: Sequence[Activation]) -> None:
    """Run them again, but those that another ran meanwhile: whoever depends on what they return is stale next time."""
    for activation in stale:
        if activation.finished:
            continue
        if activation.info is None:
            _run_module(engine, activation.module)
            continue
        left = engine.budget.enter()
        try:
            run_again(engine, activation)
        except Exception as error:  # noqa: BLE001  # one function's trouble must not hide the findings of all others
            info = activation.info
            engine.give_up(info.module, info.node, info.name, error)
            _stop_running(engine)
        engine.budget.leave(left)


def _run_module(engine: Engine, module: Module) -> Activation:
    """Run a module's body once a pass; a module that is being run already is seen as far as it got."""
    activation = engine.module_activations.get(module.path)
    if activation is None:
        scope = engine.new_scope(None, "module")
        activation = Activation(scope.number, None, module)
        engine.add_activation(activation)
        engine.module_activations[module.path] = activation
    if activation.running or activation.finished:
        return activation
    activation.running = True
    frame = _frame(engine, activation, Mode.EAGER)
    frame.scope.final = None
    left, spending = engine.budget.enter(), engine.budget.begin(module.path, module.lines)
    activation.reads.clear()
    activation.calls.clear()
    activation.chosen.clear()
    outer_reads, engine.heap.reads = engine.heap.reads, activation.reads
    for node in module.tree.body:
        frame.state.alive = True
        try:
            flow.execute(frame, node)
        except Exception as error:  # noqa: BLE001  # likewise for a module's body
            if isinstance(error, GaveUp) and not engine.budget.entry_is_over:
                engine.give_up_file(module, node, "<module>")
                break
            engine.give_up(module, node, "<module>", error)
            _stop_running(engine)
            if isinstance(error, GaveUp):
                break
    engine.settle(frame.scope, {k: v for k, v in frame.state.names.items() if "." not in k})
    engine.budget.end(spending)
    engine.budget.leave(left)
    engine.heap.reads = outer_reads
    activation.running = False
    activation.finished = True
    return activation


def _frame(engine: Engine, activation: Activation, mode: Mode) -> Frame:
    return Frame(
        engine=engine,
        activation=activation,
        scope=engine.scopes[activation.number],
        module=activation.module,
        mode=mode,
        state=State(),
    )


def _enter(engine: Engine, info: FunctionInfo) -> None:
    """Run a function that nothing has called yet, as somebody outside of the project may."""
    known = len(engine.activations)
    module = info.module
    if isinstance(info.node, ast.Lambda):
        return
    root = engine.outside(module)
    frame = _frame(engine, root, Mode.EAGER)
    left = engine.budget.enter()
    outer, engine.heap.reads = engine.heap.reads, {}
    engine.entered[info.place] = engine.heap.reads
    try:
        for function in _closures(engine, info):
            _enter_function(frame, info, function)
    except Exception as error:  # noqa: BLE001  # one function's trouble must not hide the findings of all others
        engine.give_up(module, info.node, info.name, error)
        _stop_running(engine)
    engine.budget.leave(left)
    engine.heap.reads = outer
    for activation in engine.activations[known:]:
        activation.entered = activation.info is info


def _stop_running(engine: Engine) -> None:
    for activation in engine.activations:
        if activation.info is not None:
            activation.running = False


def _closures(engine: Engine, info: FunctionInfo) -> list[Function]:
    """The function as an object, in the scopes where it was defined (at most two: they differ in what it captures)."""
    engine.heap.note_read((info.place, DEFINED))
    return [Function(info.place, s) for s in engine.defined_in.get(info.place, ())][-2:]


def _enter_function(frame: Frame, info: FunctionInfo, function: Function) -> None:
    engine = frame.engine
    node = info.node
    if info.enclosing_class is None:
        made = engine.transformed.get(info.place)
        if made is None:
            entering.call_unknown_arguments(frame, node, info, function, Mode.OPEN)
        else:
            entering.call_transformed_unknown(frame, node, info, function, made)
        return
    for cls in list(engine.classes_at.get(info.enclosing_class, ())):
        record = engine.classes[cls]
        if record.scope.number != function.scope:
            continue
        hook = classes.hook_of(engine, cls, info)
        if hook is not None and hook.makes:
            receivers = classes.made_elsewhere(frame, cls)
        else:
            receivers = classes.receivers(engine, cls)
        if not receivers:
            classes.instantiate_unknown(frame, record.node, cls)
            receivers = classes.receivers(engine, cls)
        for receiver in receivers[:2]:
            if hook is None:
                entering.call_method_unknown(frame, node, info, function, of(receiver))
            else:
                entering.call_hook(frame, node, info, function, of(receiver), hook)


def _unentered_guards(engine: Engine) -> None:
    for frame, node, was_entered in engine.guards_made.values():
        if not was_entered:
            effects.record(frame, node, Operation.GUARD_UNENTERED, None)
