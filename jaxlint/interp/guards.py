"""JAX's own transfer guard in the source: how it is made, held, lifted, and what slips past it."""

import ast

from jaxlint.interp import effects
from jaxlint.interp.engine import handler
from jaxlint.interp.frames import Call, Frame, Guard, Handler
from jaxlint.interp.states import Abandoned
from jaxlint.interp.syntax import DEFINITIONS, last_name, walk
from jaxlint.interp.values import NONE, UNKNOWN, Function, LibraryObject, Value, of
from jaxlint.sites import Operation

LEVELS = ("allow", "log", "disallow", "log_explicit", "disallow_explicit")
STRICT = ("disallow", "disallow_explicit")
DIRECTIONS = ("host_to_device", "device_to_device", "device_to_host")
_GUARD = "jax.transfer_guard"
_VARIABLE = "JAX_TRANSFER_GUARD_"
_PLATFORM_VARIABLES = ("JAX_PLATFORMS", "JAX_PLATFORM_NAME")
_PLATFORM_OPTIONS = ("jax_platforms", "jax_platform_name")
_BROAD = ("Exception", "BaseException")


@handler("transfer_guard")
def _transfer_guard(call: Call) -> Value:
    frame = call.frame
    level = call.argument(0, "new_val", "level")
    _check_level(frame, call.node, level)
    if frame.staged and frame.trace_start:
        effects.record(frame, call.node, Operation.GUARD_TRACED, call.name)
    text = level.const[0] if level is not None and level.const else "?"
    held = [g for g in frame.guards if g.level in STRICT]
    if text in {None, "allow"} and any(set(g.directions) <= set(_directions(call.name)) for g in held):
        effects.record(frame, call.node, Operation.GUARD_LIFTED, call.name, detail=str(text))
    return of(LibraryObject(call.name, (level or UNKNOWN,), frame.place(call.node)))


def _check_level(frame: Frame, node: ast.AST, level: Value | None) -> None:
    if level is not None and level.const:
        text = level.const[0]
        if (isinstance(text, str) and text and text not in LEVELS) or isinstance(text, bool):
            effects.record(frame, node, Operation.GUARD_LEVEL, None, detail=str(text))


def _directions(name: str) -> tuple[str, ...]:
    """The directions that a guard function covers."""
    direction = name.removeprefix(_GUARD).lstrip("_")
    return (direction,) if direction in DIRECTIONS else DIRECTIONS


def _guards_in(value: Value) -> list[LibraryObject]:
    return [o for o in value.objects if isinstance(o, LibraryObject) and o.name.startswith(_GUARD)]


def entered(frame: Frame, node: ast.AST, value: Value) -> Guard | None:
    """The guard that a with-item enters, if it is one; notes a second entering of one object and a blind test."""
    for obj in _guards_in(value):
        level = obj.parts[0].const[0] if obj.parts and obj.parts[0].const else None
        directions = _directions(obj.name)
        place = frame.place(node)
        made = frame.engine.guards_made
        if obj.place is not None:
            # Only the general guard's object serves once; one of a direction may be entered again, not within itself.
            once = obj.name == _GUARD or any(g.made == obj.place for g in frame.guards)
            again = obj.place in made and (made[obj.place][2] or _outlives(frame, node, made[obj.place][0]))
            if again and obj.place != place and once:
                effects.record(frame, node, Operation.GUARD_REENTERED, obj.name)
            if obj.place in made:
                made[obj.place] = (*made[obj.place][:2], True)
        if directions == ("device_to_host",) and level in STRICT and _blind(frame):
            effects.record(frame, node, Operation.GUARD_CPU, obj.name)
        return Guard(directions, str(level), place, obj.place)
    return None


def _outlives(frame: Frame, node: ast.AST, maker: Frame) -> bool:
    """True of a guard that lies in an attribute or a name of others: each run of this function enters the same."""
    if frame.info is None or maker.activation is frame.activation:
        return False
    return isinstance(node, ast.Attribute) or (isinstance(node, ast.Name) and not frame.is_local(node.id))


def _blind(frame: Frame) -> bool:
    """A test, or a program pinned to the CPU: a fetch of a CPU buffer is never guarded."""
    named = frame.info is not None and frame.info.name.startswith("test_") and not _asks_platform(frame.info.node)
    return named or frame.module.path in frame.engine.pinned_to_cpu


def _asks_platform(root: ast.AST) -> bool:
    """True if a test looks at the backend by itself, and so knows where it proves nothing."""
    names = {"default_backend", "platform", "device_kind", "skipif"}
    return any(isinstance(node, ast.Attribute) and node.attr in names for node in walk(root))


def entered_by_hand(frame: Frame, obj: LibraryObject) -> None:
    """``guard.__enter__()``: somebody enters it, if not by a with statement."""
    made = frame.engine.guards_made
    if obj.place is not None and obj.place in made:
        made[obj.place] = (*made[obj.place][:2], True)


def discarded(frame: Frame, node: ast.AST, value: Value) -> None:
    """A guard made by an expression statement guards nothing."""
    for obj in _guards_in(value):
        if obj.place == frame.place(node):
            effects.record(frame, node, Operation.GUARD_UNENTERED, obj.name)


def assigned(frame: Frame, node: ast.expr, value: Value) -> None:
    """Remember a guard that is kept under a name, to see whether anything enters it."""
    for obj in _guards_in(value):
        if obj.place is not None and obj.place == frame.place(node):
            frame.engine.guards_made.setdefault(obj.place, (frame, node, False))


def suppressing(frame: Frame, node: ast.AST, value: Value) -> Handler | None:
    """The handler that ``contextlib.suppress(Exception)`` is."""
    if (
        isinstance(node, ast.Call)
        and any(isinstance(o, LibraryObject) and o.name == "contextlib.suppress" for o in value.objects)
        and any(_is_broad(arg) for arg in node.args)
    ):
        return Handler(node, frame.module, frame)
    return None


def broad_handlers(frame: Frame, node: ast.Try | ast.TryStar) -> list[Handler]:
    """The clauses of a try that would swallow a guard's error without a word."""
    for clause in node.handlers:
        if clause.type is None or _is_broad(clause.type):
            return [] if _speaks(clause) else [Handler(clause, frame.module, frame)]
    return []


_TRACER_ERRORS = {
    "ConcretizationTypeError", "JAXTypeError", "NonConcreteBooleanIndexError", "TracerArrayConversionError",
    "TracerBoolConversionError", "TracerIntegerConversionError",
}  # fmt: skip


def expects_tracers(node: ast.Try | ast.TryStar) -> bool:
    """True of a try that handles what a tracer raises: it asks for the value where there is one."""
    return any(_names(h.type) & _TRACER_ERRORS for h in node.handlers if h.type is not None)


def _names(node: ast.expr) -> set[str]:
    return {last_name(part) for part in (node.elts if isinstance(node, ast.Tuple) else [node])}


def _is_broad(node: ast.expr) -> bool:
    return not _names(node).isdisjoint(_BROAD)


def _speaks(clause: ast.ExceptHandler) -> bool:
    """True if the clause raises again or uses the exception that it caught."""
    for node in walk(clause.body):
        if isinstance(node, ast.Raise) or (isinstance(node, ast.Name) and node.id == clause.name):
            return True
        if isinstance(node, ast.Attribute) and node.attr in {"exc_info", "exception", "format_exc", "print_exc"}:
            return True
    return False


def body_of_guard(frame: Frame, node: ast.With | ast.AsyncWith) -> None:
    """A guard around definitions alone covers no call."""
    if all(_defines(statement) for statement in node.body):
        effects.record(frame, node.items[0].context_expr, Operation.GUARD_DEFINITION, None)


def _defines(node: ast.stmt) -> bool:
    if isinstance(node, ast.Assign):
        return _compiles(node.value)
    if isinstance(node, ast.ClassDef):
        # The body of a class runs here and now.
        return all(_defines(part) or not any(isinstance(n, ast.Call) for n in walk(part)) for part in node.body)
    return isinstance(node, DEFINITIONS)


def _compiles(node: ast.expr) -> bool:
    """True of ``jax.jit(f)`` and its like: nothing runs yet."""
    if not isinstance(node, ast.Call):
        return False
    return last_name(node.func) in {"jit", "pmap", "filter_jit", "shard_map", "pjit"}


def thread_started(frame: Frame, node: ast.AST) -> None:
    """Work is handed to another thread while a guard is held here."""
    if any(g.level in LEVELS and g.level != "allow" for g in frame.guards):
        effects.record(frame, node, Operation.GUARD_THREAD, None)


def environment(frame: Frame, node: ast.AST, base: Value, key: Value) -> None:
    """A write to os.environ: direction-specific guard variables have no effect; a platform may be pinned."""
    if not any(isinstance(o, LibraryObject) and o.name == "os.environ" for o in base.objects):
        return
    if key.const and isinstance(key.const[0], str):
        variable(frame, node, key.const[0])


def variable(frame: Frame, node: ast.AST, name: str) -> None:
    """Note a guard variable that JAX does not heed."""
    if name.startswith(_VARIABLE):
        effects.record(frame, node, Operation.GUARD_VARIABLE, None, detail=name)


@handler("setenv")
def _setenv(call: Call) -> Value:
    key = call.argument(0, "key")
    if key is not None and key.const and isinstance(key.const[0], str):
        variable(call.frame, call.node, key.const[0])
    return NONE


@handler("config_update")
def _config_update(call: Call) -> Value:
    """jax.config.update: a guard level, or the platform."""
    option, value = call.argument(0, "name"), call.argument(1, "val")
    if option is not None and option.const and isinstance(option.const[0], str):
        if option.const[0].startswith("jax_transfer_guard"):
            _check_level(call.frame, call.node, value)
        if option.const[0] in _PLATFORM_OPTIONS and value is not None:
            _platform(call.frame, call.node, value)
    return NONE


@handler("set_platform")
def _set_platform(call: Call) -> Value:
    """numpyro.set_platform: the same as jax.config.update of the platform."""
    value = call.argument(0, "platform")
    if value is not None:
        _platform(call.frame, call.node, value)
    return NONE


@handler("decorate_guard")
def _decorate_guard(call: Call) -> Value:
    """A guard used as a decorator: around a generator it guards nothing but its making."""
    function = call.argument(0, "f")
    if function is None:
        return UNKNOWN
    for obj in function.objects:
        if isinstance(obj, Function):
            info = call.engine.by_place.get(obj.place)
            if info is not None and (info.is_generator or info.is_async):
                effects.record(call.frame, call.node, Operation.GUARD_YIELD, None)
    receiver = call.receiver
    for made in _guards_in(receiver) if receiver is not None else ():
        if made.place is not None and made.place in call.engine.guards_made:
            call.engine.guards_made[made.place] = (*call.engine.guards_made[made.place][:2], True)
    return function


def pinning(frame: Frame, node: ast.AST, base: Value, key: Value, value: Value) -> None:
    """Remember a file that pins itself to the CPU through the environment."""
    environ = any(isinstance(o, LibraryObject) and o.name == "os.environ" for o in base.objects)
    if environ and key.const and key.const[0] in _PLATFORM_VARIABLES:
        _platform(frame, node, value)


def _platform(frame: Frame, node: ast.AST, value: Value) -> None:
    """The file asks for a platform: for the CPU whatever happens, or by what is asked last for another."""
    pinned = frame.engine.pinned_to_cpu
    if value.const != ("cpu",):
        pinned.pop(frame.module.path, None)
    elif _in_any_case(frame, node):
        reason = "the program asks for the CPU, where nothing is copied between host and device"
        pinned[frame.module.path] = Abandoned(frame.module, node, "the file", reason)


def _in_any_case(frame: Frame, node: ast.AST) -> bool:
    """True of what stands in no branch of its function or module."""
    body = frame.module.tree.body if frame.info is None else frame.info.body
    simple = [statement for statement in body if not hasattr(statement, "body")]
    return any(each is node for each in walk(simple))
