"""Errors in a loop: what is made ready for one that no handler in the loop takes is made once."""

from pathlib import Path

import pytest

from snippets import check_marks, check_project, rows

RAISED = """
# errors.py
import requests
class Failure(ValueError):
    pass
class Rare(Failure):
    pass
class Apart(Exception):
    pass
class Foreign(requests.RequestException):
    pass
# use.py
import builtins
import errors
import jax
import requests
from errors import Apart, Failure, Foreign, Rare
@jax.jit
def step(x):
    return x + 1
BOTH = (TypeError, KeyError)
def fails(x):
    if x.ndim > 2:
        RAISE  # d2h HEAT
def f(x, error):
    for i in range(99):
        x = step(x)
        try:
            fails(x)
        HANDLERS
f(1.0, load())
"""
TAKEN = (
    ('raise ValueError(f"{x}")', "except ValueError: pass"),
    ('raise ValueError(f"{x}")', "except Exception: pass"),
    ('raise ValueError(f"{x}")', "except: pass"),
    ('raise ValueError(f"{x}")', "except BaseException as e: print(e)"),
    ('raise ValueError(f"{x}")', "except (TypeError, ValueError): pass"),
    ('raise KeyError(f"{x}")', "except LookupError: pass"),
    ('raise KeyError(f"{x}")', "except BOTH: pass"),
    ('raise IOError(f"{x}")', "except OSError: pass"),
    ('raise errors.Failure(f"{x}")', "except Failure: pass"),
    ('raise Rare(f"{x}")', "except Failure: pass"),
    ('raise Rare(f"{x}")', "except ValueError: pass"),
    ('raise Foreign(f"{x}")', "except KeyError: pass"),  # it may be one
    ('raise requests.HTTPError(f"{x}")', "except KeyError: pass"),
    ('raise make(f"{x}")', "except KeyError: pass"),
    ('raise ValueError(f"{x}")', "except error: pass"),
    ('raise ValueError(f"{x}")', "except (KeyError, requests.HTTPError): pass"),
    ('raise ValueError(f"{x}")', "except* ValueError: pass"),
    ('raise ValueError(f"{x}")', "except KeyError: raise\n        except ValueError: pass"),
)
NOT_TAKEN = (
    ('raise ValueError(f"{x}")', "except RuntimeError: pass"),
    ('raise ValueError(f"{x}")', "except (TypeError, KeyError): pass"),
    ('raise ValueError(f"{x}")', "except BOTH: pass"),
    ('raise ValueError(f"{x}")', "except Failure: pass"),
    ('raise ValueError(f"{x}")', "except UnicodeDecodeError: pass"),
    ('raise ValueError(f"{x}")', "finally: pass"),
    ('raise ValueError(f"{x}")', "except ValueError: raise"),
    ('raise ValueError(f"{x}")', "except ValueError: raise\n        except Exception: pass"),
    ('raise ValueError(f"{x}") from None', "except builtins.RuntimeError: pass"),
    ('raise KeyError(f"{x}")', "except IndexError: pass"),
    ('raise Rare(f"{x}")', "except Apart: pass"),
    ('raise Rare(f"{x}")', "except RuntimeError: pass"),
    ('raise Apart(f"{x}")', "except (Failure, ValueError): pass"),
    ('raise SystemExit(f"{x}")', "except Exception: pass"),
)


@pytest.mark.parametrize(
    ("raised", "handlers", "heat"), [*((*row, "hot") for row in TAKEN), *((*row, "cold") for row in NOT_TAKEN)]
)
def test_an_error_ends_the_loop_that_no_handler_in_it_takes(
    raised: str, handlers: str, heat: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = RAISED.replace("RAISE  #", f"{raised}  #").replace("HANDLERS", handlers).replace("HEAT", heat)
    check_project(text, tmp_path, monkeypatch)


AROUND = {
    "a handler further out takes it": """
        for i in range(99):
            x = step(i)
            try:
                try:
                    raise ValueError(f"{x}")  # d2h hot
                except RuntimeError:
                    pass
            except ValueError:
                pass
    """,
    "none of two does": """
        for i in range(99):
            x = step(i)
            try:
                try:
                    raise ValueError(f"{x}")  # d2h cold
                except RuntimeError:
                    pass
            except KeyError:
                pass
    """,
    "it is raised again as something else": """
        for i in range(99):
            x = step(i)
            try:
                try:
                    raise ValueError(f"{x}")  # d2h hot
                except ValueError as error:
                    raise RuntimeError from error
            except RuntimeError:
                pass
    """,
    "it is raised again as it is": """
        for i in range(99):
            x = step(i)
            try:
                try:
                    raise ValueError(f"{x}")  # d2h cold
                except ValueError:
                    raise
            except RuntimeError:
                pass
    """,
    "in a handler and behind the body its own handlers take nothing": """
        for i in range(99):
            x = step(i)
            try:
                load(x)
            except KeyError:
                raise KeyError(f"{x}")  # d2h cold
            else:
                raise KeyError(f"{x}")  # d2h cold
    """,
    "outside of the loop a handler lets no turn follow": """
        try:
            for i in range(99):
                x = step(i)
                raise ValueError(f"{x}")  # d2h cold
        except ValueError:
            pass
    """,
    "around an inner loop a handler lets turns of the outer follow": """
        for i in range(99):
            try:
                for j in range(99):
                    x = step(i)
                    raise ValueError(f"{x}")  # d2h cold
            except ValueError:
                pass
    """,
    "what a failed assertion calls": """
        def caught(x):
            return f"{x}"  # d2h hot
        def let_pass(x):
            return f"{x}"  # d2h cold
        for i in range(99):
            x = step(i)
            try:
                assert x is None, caught(x)
            except AssertionError:
                pass
            x = step(i)
            try:
                assert x is None, let_pass(x)
            except ValueError:
                pass
    """,
    "a class of one's own under a name of the builtins": """
        class ValueError(RuntimeError):
            pass
        for i in range(99):
            x = step(i)
            try:
                raise ValueError(f"{x}")  # d2h hot
            except RuntimeError:
                pass
    """,
}


@pytest.mark.parametrize("text", rows(AROUND, {}))
def test_handlers_around_one_another(text: str) -> None:
    check_marks(text)
