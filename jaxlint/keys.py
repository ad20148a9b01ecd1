"""The keys of the configuration file, and what a person may choose among.

`KEYS` is the source of ``docs/configuration.md``.
"""

from dataclasses import dataclass

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
