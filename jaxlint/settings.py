"""Settings: what a person may choose, resolved once from defaults, one configuration file and flags.

An unknown key, code or value is an error that names the nearest valid one, never a warning. Nothing here reads Python
sources or prints.
"""

from collections.abc import Iterable, Mapping, Sized
from dataclasses import dataclass, field, replace
from pathlib import Path

from jaxlint import configuration
from jaxlint.configuration import Configuration, Table, nearest, shown
from jaxlint.errors import UserError
from jaxlint.keys import ALL, BACKENDS, CONFIDENCES, CONFIRM_KEYS, FORMATS, HEATS, KEYS, MODEL_TABLES
from jaxlint.sites import Confidence, Heat
from jaxlint.source.files import DEFAULT_EXCLUDE


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
    jobs: int | None = None
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


def resolve(flags: Flags, rules: Mapping[str, str], start: Path) -> Settings:
    """The settings of one run. `rules` are the names of the known ones by code; `start` is where the search for a file
    begins. UserError where a choice is none."""
    if flags.isolated and flags.config is not None:
        raise UserError("--isolated and --config exclude each other: give one of them")
    if flags.isolated:
        found = Configuration()
    elif flags.config is not None:
        found = configuration.read(flags.config)
    else:
        found = configuration.find(start)
    return _with_flags(_from_file(found, rules), flags, rules)


def _from_file(found: Configuration, rules: Mapping[str, str]) -> Settings:
    top, confirm, models = Table(found), Table(found, ("confirm",)), Table(found, ("models",))
    top.close([key.name for key in KEYS])
    confirm.close([key.name for key in CONFIRM_KEYS])
    models.close(MODEL_TABLES)
    base = found.path.parent.absolute() if found.path else Path.cwd()
    exclude = top.strings("exclude")
    excluded = (*(DEFAULT_EXCLUDE if exclude is None else exclude), *(top.strings("extend-exclude") or ()))
    return Settings(
        select=_selectors(top, "select", rules),
        ignore=_selectors(top, "ignore", rules) or (),
        extend_select=_selectors(top, "extend-select", rules) or (),
        per_file_ignores=_file_ignores(Table(found, ("per-file-ignores",)), rules, base),
        exclude=tuple(Pattern(text, base) for text in excluded),
        respect_gitignore=top.boolean("respect-gitignore", True),
        force_exclude=top.boolean("force-exclude", False),
        min_heat=Heat[top.choice("min-heat", HEATS, "hot").upper()],
        min_confidence=Confidence[top.choice("min-confidence", CONFIDENCES, "medium").upper()],
        output_format=top.choice("output-format", FORMATS, "text"),
        cache_dir=top.string("cache-dir", ".jaxlint_cache"),
        fixable=(ALL,) if (fixable := _selectors(top, "fixable", rules)) is None else fixable,
        unfixable=_selectors(top, "unfixable", rules) or (),
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


def _selectors(table: Table, key: str, rules: Mapping[str, str]) -> tuple[str, ...] | None:
    taken = table.strings(key)
    for selector in taken or ():
        _checked((selector,), rules, table.place(key, selector))
    return taken


def _file_ignores(table: Table, rules: Mapping[str, str], base: Path) -> tuple[FileIgnores, ...]:
    return tuple(FileIgnores(Pattern(key, base), _selectors(table, key, rules) or ()) for key in table.values)


def _with_flags(settings: Settings, flags: Flags, rules: Mapping[str, str]) -> Settings:
    """Flags over the file. ``--select`` sets aside what the file selects and ignores; ``--extend-*`` add to it."""
    here = Path.cwd()
    if flags.select is not None:
        settings = replace(settings, select=_checked(flags.select, rules, "--select"), ignore=(), extend_select=())
    if flags.ignore is not None:
        settings = replace(settings, ignore=_checked(flags.ignore, rules, "--ignore"))
    if flags.per_file_ignores is not None:
        ignores = (_file_ignores_flag(text, rules, here) for text in flags.per_file_ignores)
        settings = replace(settings, per_file_ignores=tuple(ignores))
    if flags.exclude is not None:
        settings = replace(settings, exclude=tuple(Pattern(text, here) for text in flags.exclude))
    extended = _checked(flags.extend_select, rules, "--extend-select")
    return replace(
        settings,
        extend_select=(*settings.extend_select, *extended),
        exclude=(*settings.exclude, *(Pattern(text, here) for text in flags.extend_exclude)),
        respect_gitignore=settings.respect_gitignore if flags.respect_gitignore is None else flags.respect_gitignore,
        force_exclude=settings.force_exclude if flags.force_exclude is None else flags.force_exclude,
        min_heat=Heat[flags.min_heat.upper()] if flags.min_heat else settings.min_heat,
        min_confidence=(Confidence[flags.min_confidence.upper()] if flags.min_confidence else settings.min_confidence),
        output_format=flags.output_format or settings.output_format,
        fixable=settings.fixable if flags.fixable is None else _checked(flags.fixable, rules, "--fixable"),
        unfixable=settings.unfixable if flags.unfixable is None else _checked(flags.unfixable, rules, "--unfixable"),
        unsafe_fixes=settings.unsafe_fixes if flags.unsafe_fixes is None else flags.unsafe_fixes,
        baseline=flags.baseline or settings.baseline,
        confirm=replace(
            settings.confirm,
            run=flags.run or settings.confirm.run,
            backend=flags.backend or settings.confirm.backend,
            timeout=flags.timeout or settings.confirm.timeout,
        ),
    )


def _file_ignores_flag(text: str, rules: Mapping[str, str], base: Path) -> FileIgnores:
    pattern, colon, selectors = text.rpartition(":")
    if not colon or not pattern or not selectors:
        raise UserError(f'--per-file-ignores: "{text}" is not PATTERN:CODE: write for example "tests/*:JT101"')
    return FileIgnores(Pattern(pattern, base), _checked((selectors,), rules, "--per-file-ignores"))


def _checked(selectors: Iterable[str], rules: Mapping[str, str], place: str) -> tuple[str, ...]:
    """The selectors, each of which must match a rule."""
    taken = tuple(selectors)
    for selector in taken:
        if selector != ALL and not (selector.startswith("JT") and any(code.startswith(selector) for code in rules)):
            families = {ALL, *(code[:length] for code in rules for length in (3, 4))}
            codes = {name: code for code, name in rules.items()}
            known = [*rules, *codes] if len(selector) > 4 else families
            rest = nearest(selector, known, "`jaxlint rules` lists them", codes)
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
