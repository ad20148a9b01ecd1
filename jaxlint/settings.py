"""Settings: what a person may choose, resolved once from defaults, one configuration file and flags.

`KEYS` is the definition of the file's keys and the source of ``docs/configuration.md``. An unknown key, code or value
is an error that names the nearest valid one, never a warning. Nothing here reads Python sources or prints.
"""

from collections.abc import Iterable, Mapping, Sequence, Sized
from dataclasses import dataclass, field, replace
from pathlib import Path

from jaxlint import configuration
from jaxlint.configuration import Configuration, Table, nearest, shown
from jaxlint.errors import UserError
from jaxlint.sites import Confidence, Heat
from jaxlint.source.files import DEFAULT_EXCLUDE

ALL = "ALL"
FORMATS = ("text", "concise", "json", "sarif", "github", "gitlab", "junit")
HEATS = tuple(heat.name.lower() for heat in reversed(Heat))
CONFIDENCES = tuple(confidence.name.lower() for confidence in Confidence)
MODEL_TABLES = ("alias", "function", "attribute")
LEVELS = ("allow", "log", "disallow", "log_explicit", "disallow_explicit")
GUARDED = ("host_to_device", "device_to_device", "device_to_host")
BACKENDS = ("auto", "device", "virtual", "sentinel")


@dataclass(frozen=True, slots=True)
class Key:
    """A key of the configuration file: its `form` is "codes", "patterns", "strings", "boolean", "choice", "string",
    "seconds", "codes by pattern" or "table"; `inner` holds the keys of a table of its own."""

    name: str
    form: str
    doc: str
    default: str
    choices: tuple[str, ...] = ()
    inner: tuple["Key", ...] = ()


CONFIRM_KEYS = (
    Key(
        "run",
        "strings",
        "Commands that run the program, each a string, split into words as a shell would but run without one. Without "
        "this key: the project's pytest suite, if it has one.",
        "[]",
    ),
    Key(
        "backend",
        "choice",
        "Who asks the guard: `device` (an accelerator), `virtual` (needs the extra of that name), `sentinel` (serves "
        "everywhere) or `auto`, the first of them that can.",
        '"auto"',
        BACKENDS,
    ),
    Key("timeout", "seconds", "Seconds that one command may take.", "600"),
    Key(
        "python",
        "string",
        "The interpreter for `python` in a command. Without this key: the first of the path's and jaxlint's own that "
        "has JAX.",
        '""',
    ),
    Key("plugin", "string", "The library of another PJRT plugin for the backend `virtual`.", '""'),
)
KEYS = (
    Key(
        "select",
        "codes",
        'The rules to use: codes, beginnings of codes (`"JT1"`, `"JT10"`) or `"ALL"`. A rule that is off by default is '
        "selected only by its full code or by `ALL`. Without this key: every rule that is on by default.",
        "the rules that are on by default",
    ),
    Key(
        "ignore",
        "codes",
        "Rules not to use. Where `select` and `ignore` both match a code, the longer one wins, and `ignore` of two "
        "equally long ones.",
        "[]",
    ),
    Key("extend-select", "codes", "Rules to use besides those of `select`.", "[]"),
    Key(
        "per-file-ignores",
        "codes by pattern",
        "Rules not to use in the files that a pattern matches; patterns are those of `exclude`.",
        "{}",
    ),
    Key(
        "exclude",
        "patterns",
        "Files and folders not to check, in place of the default ones, in the form of `.gitignore`: a pattern without "
        "`/` matches a name at any depth; one with `/` counts from the folder of the configuration file. A file named "
        "on the command line is checked all the same, unless `force-exclude` is set.",
        "[" + ", ".join(f'"{name}"' for name in DEFAULT_EXCLUDE) + "]",
    ),
    Key("extend-exclude", "patterns", "Files and folders not to check, besides those of `exclude`.", "[]"),
    Key("respect-gitignore", "boolean", "Leave out what `.gitignore` files leave out.", "true"),
    Key("force-exclude", "boolean", "Hold `exclude` against files that are named on the command line too.", "false"),
    Key(
        "min-heat",
        "choice",
        "Report transfers that are at least this hot: `hot` runs at each turn of a Python loop, `periodic` every few "
        "turns, `cold` once. It selects among JT1xx, JT2xx and JT3xx; the other families are always reported.",
        '"hot"',
        HEATS,
    ),
    Key("min-confidence", "choice", "Report findings whose inference is at least this sure.", '"medium"', CONFIDENCES),
    Key("output-format", "choice", "The form of the report.", '"text"', FORMATS),
    Key(
        "cache-dir",
        "string",
        "Where reports are kept, so that a check of what has not changed is answered at once: from the folder of the "
        "configuration file, or where there is none from the working directory.",
        '".jaxlint_cache"',
    ),
    Key(
        "fixable",
        "codes",
        "The rules whose findings `--fix` may repair, in the form of `select`. Without this key: every rule that has a "
        "fix.",
        '["ALL"]',
    ),
    Key("unfixable", "codes", "Rules whose findings `--fix` leaves alone, whatever `fixable` says.", "[]"),
    Key(
        "unsafe-fixes",
        "boolean",
        "Make fixes too after which the program may print something else, or go on with a NumPy array in place of a "
        "device array.",
        "false",
    ),
    Key(
        "baseline",
        "string",
        "A file of known findings that are not reported, written by `--write-baseline`: from the folder of the "
        "configuration file.",
        '""',
    ),
    Key(
        "models",
        "table",
        "What functions of your own libraries return, fetch and upload: `[tool.jaxlint.models.alias]`, "
        "`[[tool.jaxlint.models.function]]` and `[[tool.jaxlint.models.attribute]]`, in the form that "
        "`jaxlint/models/README.md` describes.",
        "{}",
    ),
    Key(
        "confirm",
        "table",
        "How `--confirm` executes findings under the guard.",
        "{}",
        inner=CONFIRM_KEYS,
    ),
)


@dataclass(frozen=True, slots=True)
class Confirm:
    """``[tool.jaxlint.confirm]``."""

    run: tuple[str, ...] = ()
    backend: str = "auto"
    timeout: float = 600.0
    python: str = ""
    plugin: str = ""


@dataclass(frozen=True, slots=True)
class Pattern:
    """A path pattern and the folder from which it counts if it holds a slash."""

    text: str
    base: Path


@dataclass(frozen=True, slots=True)
class FileIgnores:
    """The selectors that a pattern's files ignore."""

    pattern: Pattern
    selectors: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Settings:
    """Every choice, resolved. `select` is None where the default rules hold; `models` is the user's table as
    read, `models_place` where it stands."""

    select: tuple[str, ...] | None = None
    ignore: tuple[str, ...] = ()
    extend_select: tuple[str, ...] = ()
    per_file_ignores: tuple[FileIgnores, ...] = ()
    exclude: tuple[Pattern, ...] = ()
    respect_gitignore: bool = True
    force_exclude: bool = False
    min_heat: Heat = Heat.HOT
    min_confidence: Confidence = Confidence.MEDIUM
    output_format: str = "text"
    cache_dir: str = ".jaxlint_cache"
    fixable: tuple[str, ...] = (ALL,)
    unfixable: tuple[str, ...] = ()
    unsafe_fixes: bool = False
    baseline: Path | None = None
    models: Mapping[str, object] = field(default_factory=dict)
    models_place: str = ""
    confirm: Confirm = Confirm()
    config: Path | None = None


@dataclass(frozen=True, slots=True)
class Flags:
    """The command line's own choices, as text; None where nothing was said."""

    select: tuple[str, ...] | None = None
    ignore: tuple[str, ...] | None = None
    extend_select: tuple[str, ...] = ()
    per_file_ignores: tuple[str, ...] | None = None
    exclude: tuple[str, ...] | None = None
    extend_exclude: tuple[str, ...] = ()
    respect_gitignore: bool | None = None
    force_exclude: bool | None = None
    min_heat: str | None = None
    min_confidence: str | None = None
    output_format: str | None = None
    fixable: tuple[str, ...] | None = None
    unfixable: tuple[str, ...] | None = None
    unsafe_fixes: bool | None = None
    baseline: Path | None = None
    run: tuple[str, ...] = ()
    backend: str | None = None
    timeout: float | None = None
    config: Path | None = None
    isolated: bool = False


@dataclass(frozen=True, slots=True)
class Output:
    """One form of the report, and the file that it goes to; None is standard output."""

    form: str
    file: Path | None = None


@dataclass(frozen=True, slots=True)
class Request:
    """One call of ``jaxlint check`` as typed data: what to check, the choices, and where the report goes. `outputs`
    are files that it is written to besides."""

    paths: tuple[str, ...]
    flags: Flags
    stdin_filename: str | None = None
    output_file: Path | None = None
    outputs: tuple[Output, ...] = ()
    statistics: bool = False
    show_settings: bool = False
    show_files: bool = False
    exit_zero: bool = False
    color: str = "auto"
    quiet: bool = False
    verbose: bool = False
    no_cache: bool = False
    confirm: bool = False
    confirmed_only: bool = False
    watch: bool = False
    fix: bool = False
    fix_only: bool = False
    diff: bool = False
    write_baseline: Path | None = None
    add_ignore: str | None = None


@dataclass(frozen=True, slots=True)
class RunRequest:
    """One call of ``jaxlint run`` as typed data: the words after ``python``, the guard's level by direction, and where
    the report goes."""

    words: tuple[str, ...]
    levels: Mapping[str, str]
    backend: str | None = None
    python: str = ""
    report: Path | None = None
    stacks: bool = False
    quiet: bool = False
    config: Path | None = None
    isolated: bool = False


def resolve(flags: Flags, codes: Iterable[str], start: Path) -> Settings:
    """The settings of one run. `codes` are the known rules; `start` is where the search for a file begins."""
    if flags.isolated and flags.config is not None:
        raise UserError("--isolated and --config exclude each other: give one of them")
    if flags.isolated:
        found = Configuration()
    elif flags.config is not None:
        found = configuration.read(flags.config)
    else:
        found = configuration.find(start)
    known = tuple(codes)
    return _with_flags(_from_file(found, known), flags, known)


def _from_file(found: Configuration, codes: Sequence[str]) -> Settings:
    top, confirm, models = Table(found), Table(found, ("confirm",)), Table(found, ("models",))
    top.close([key.name for key in KEYS])
    confirm.close([key.name for key in CONFIRM_KEYS])
    models.close(MODEL_TABLES)
    base = found.path.parent.absolute() if found.path else Path.cwd()
    exclude = top.strings("exclude")
    excluded = (*(DEFAULT_EXCLUDE if exclude is None else exclude), *(top.strings("extend-exclude") or ()))
    return Settings(
        select=_selectors(top, "select", codes),
        ignore=_selectors(top, "ignore", codes) or (),
        extend_select=_selectors(top, "extend-select", codes) or (),
        per_file_ignores=_file_ignores(Table(found, ("per-file-ignores",)), codes, base),
        exclude=tuple(Pattern(text, base) for text in excluded),
        respect_gitignore=top.boolean("respect-gitignore", True),
        force_exclude=top.boolean("force-exclude", False),
        min_heat=Heat[top.choice("min-heat", HEATS, "hot").upper()],
        min_confidence=Confidence[top.choice("min-confidence", CONFIDENCES, "medium").upper()],
        output_format=top.choice("output-format", FORMATS, "text"),
        cache_dir=top.string("cache-dir", ".jaxlint_cache"),
        fixable=(ALL,) if (fixable := _selectors(top, "fixable", codes)) is None else fixable,
        unfixable=_selectors(top, "unfixable", codes) or (),
        unsafe_fixes=top.boolean("unsafe-fixes", False),
        baseline=base / baseline if (baseline := top.string("baseline", "")) else None,
        models=models.values,
        models_place=found.place(("models",)) if models.values else "",
        confirm=Confirm(
            confirm.strings("run") or (),
            confirm.choice("backend", BACKENDS, "auto"),
            confirm.seconds("timeout", 600.0),
            confirm.string("python", ""),
            confirm.string("plugin", ""),
        ),
        config=found.path,
    )


def _selectors(table: Table, key: str, codes: Sequence[str]) -> tuple[str, ...] | None:
    taken = table.strings(key)
    for selector in taken or ():
        _checked((selector,), codes, table.place(key, selector))
    return taken


def _file_ignores(table: Table, codes: Sequence[str], base: Path) -> tuple[FileIgnores, ...]:
    return tuple(FileIgnores(Pattern(key, base), _selectors(table, key, codes) or ()) for key in table.values)


def _with_flags(settings: Settings, flags: Flags, codes: Sequence[str]) -> Settings:
    """Flags over the file. ``--select`` sets aside what the file selects and ignores; ``--extend-*`` add to it."""
    here = Path.cwd()
    if flags.select is not None:
        settings = replace(settings, select=_checked(flags.select, codes, "--select"), ignore=(), extend_select=())
    if flags.ignore is not None:
        settings = replace(settings, ignore=_checked(flags.ignore, codes, "--ignore"))
    if flags.per_file_ignores is not None:
        ignores = (_file_ignores_flag(text, codes, here) for text in flags.per_file_ignores)
        settings = replace(settings, per_file_ignores=tuple(ignores))
    if flags.exclude is not None:
        settings = replace(settings, exclude=tuple(Pattern(text, here) for text in flags.exclude))
    extended = _checked(flags.extend_select, codes, "--extend-select")
    return replace(
        settings,
        extend_select=(*settings.extend_select, *extended),
        exclude=(*settings.exclude, *(Pattern(text, here) for text in flags.extend_exclude)),
        respect_gitignore=settings.respect_gitignore if flags.respect_gitignore is None else flags.respect_gitignore,
        force_exclude=settings.force_exclude if flags.force_exclude is None else flags.force_exclude,
        min_heat=Heat[flags.min_heat.upper()] if flags.min_heat else settings.min_heat,
        min_confidence=(Confidence[flags.min_confidence.upper()] if flags.min_confidence else settings.min_confidence),
        output_format=flags.output_format or settings.output_format,
        fixable=settings.fixable if flags.fixable is None else _checked(flags.fixable, codes, "--fixable"),
        unfixable=settings.unfixable if flags.unfixable is None else _checked(flags.unfixable, codes, "--unfixable"),
        unsafe_fixes=settings.unsafe_fixes if flags.unsafe_fixes is None else flags.unsafe_fixes,
        baseline=flags.baseline or settings.baseline,
        confirm=replace(
            settings.confirm,
            run=flags.run or settings.confirm.run,
            backend=flags.backend or settings.confirm.backend,
            timeout=flags.timeout or settings.confirm.timeout,
        ),
    )


def _file_ignores_flag(text: str, codes: Sequence[str], base: Path) -> FileIgnores:
    pattern, colon, selectors = text.rpartition(":")
    if not colon or not pattern or not selectors:
        raise UserError(f'--per-file-ignores: "{text}" is not PATTERN:CODE: write for example "tests/*:JT101"')
    return FileIgnores(Pattern(pattern, base), _checked((selectors,), codes, "--per-file-ignores"))


def _checked(selectors: Iterable[str], codes: Sequence[str], place: str) -> tuple[str, ...]:
    """The selectors, each of which must match a rule."""
    taken = tuple(selectors)
    for selector in taken:
        if selector != ALL and not (selector.startswith("JT") and any(code.startswith(selector) for code in codes)):
            families = {ALL, *(code[:length] for code in codes for length in (3, 4))}
            rest = nearest(selector, codes if len(selector) > 4 else families, "`jaxlint rules` lists them")
            raise UserError(f'{place}: unknown rule "{selector}"{rest}')
    return taken


def describe(settings: Settings, codes: Iterable[str]) -> str:
    """The settings as ``--show-settings`` prints them: one line a choice, then the `codes` in force."""
    per_file = [f"{entry.pattern.text}: {', '.join(entry.selectors)}" for entry in settings.per_file_ignores]
    rows = {
        "config": shown(settings.config) if settings.config else "none",
        "select": "default" if settings.select is None else _listed(settings.select),
        "ignore": _listed(settings.ignore),
        "extend-select": _listed(settings.extend_select),
        "per-file-ignores": _listed(per_file),
        "exclude": _listed(pattern.text for pattern in settings.exclude),
        "respect-gitignore": str(settings.respect_gitignore).lower(),
        "force-exclude": str(settings.force_exclude).lower(),
        "min-heat": settings.min_heat.name.lower(),
        "min-confidence": settings.min_confidence.name.lower(),
        "output-format": settings.output_format,
        "cache-dir": settings.cache_dir,
        "fixable": _listed(settings.fixable),
        "unfixable": _listed(settings.unfixable),
        "unsafe-fixes": str(settings.unsafe_fixes).lower(),
        "baseline": shown(settings.baseline) if settings.baseline else "none",
        "models": _listed(
            f"{len(block)} {name}" for name, block in settings.models.items() if isinstance(block, Sized)
        ),
        "confirm.run": _listed(settings.confirm.run),
        "confirm.backend": settings.confirm.backend,
        "confirm.timeout": f"{settings.confirm.timeout:g}",
        "confirm.python": settings.confirm.python,
        "confirm.plugin": settings.confirm.plugin,
        "rules in force": _listed(sorted(codes)),
    }
    return "".join(f"{name} = {value}\n" for name, value in rows.items())


def _listed(items: Iterable[str]) -> str:
    return "[" + ", ".join(items) + "]"
