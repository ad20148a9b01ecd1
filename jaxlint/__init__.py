"""jaxlint: a linter for implicit host/device transfers in JAX programs."""

# Nothing is imported here: `python -m jaxlint` has the working directory on its path until `__main__` takes it off.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from jaxlint.api import TransferError, Transfers, no_transfers, record, watch

__version__ = "0.1.0"
__all__ = ["TransferError", "Transfers", "no_transfers", "record", "watch"]


def __getattr__(name: str) -> object:
    # Whoever only checks files needs nothing of these.
    if name in __all__:
        from jaxlint import api

        return getattr(api, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
