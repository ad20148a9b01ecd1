"""What a program or a test says in Python: no transfers here, record what crosses here.

    with jaxlint.no_transfers(device_to_host=True):
        state = step(state, batch)

    with jaxlint.record() as transfers:
        state = step(state, batch)
    assert transfers.implicit.device_to_host == 0

jax is imported by `no_transfers` alone; the process is watched from the first of these calls on (see `watch`).
"""

import functools
import importlib
import inspect
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, ParamSpec, TypeVar

from jaxlint.errors import UserError
from jaxlint.findings import Direction
from jaxlint.records import with_shown_path
from jaxlint.transfers import Transfer

if TYPE_CHECKING:
    from jaxlint.witness.inside import Inside
    from jaxlint.witness.levels import Refused
    from jaxlint.witness.recording import Site, Sums

P = ParamSpec("P")
R = TypeVar("R")
# The witness under the name that it has where it watches the whole program; there are not to be two.
PACKAGES = ("_jaxlint_witness", "jaxlint.witness")


class TransferError(RuntimeError):
    """A transfer that `no_transfers` refused: where it was asked for, in which direction, and what it was."""

    def __init__(self, refused: "Refused") -> None:
        super().__init__(refused.text)
        self.path, self.line, self.function = refused.path, refused.line, refused.function
        self.direction = Direction(refused.direction.replace("-", "_"))
        self.what = refused.what


class Transfers:
    """Transfers by line, the most expensive first: each entry is the sum for a line, a direction, and whether the
    program asked by name. The directions are attributes: how many crossed."""

    def __init__(self, read: Callable[[], Sequence[Transfer]]) -> None:
        self._read = read

    def __iter__(self) -> Iterator[Transfer]:
        return iter(self._read())

    def __len__(self) -> int:
        return len(self._read())

    def __getitem__(self, index: int) -> Transfer:
        return self._read()[index]

    @property
    def implicit(self) -> "Transfers":
        """Those that the program did not ask for by name."""
        return self._those(explicit=False)

    @property
    def explicit(self) -> "Transfers":
        """Those of ``device_get``, ``device_put`` and their like."""
        return self._those(explicit=True)

    def _those(self, *, explicit: bool) -> "Transfers":
        return Transfers(lambda: [transfer for transfer in self if transfer.explicit == explicit])

    def of(self, direction: str) -> "Transfers":
        """Those in one direction."""
        return Transfers(lambda: [transfer for transfer in self if transfer.direction == direction])

    @property
    def device_to_host(self) -> int:
        """How many were fetched."""
        return self.of(Direction.DEVICE_TO_HOST).count

    @property
    def host_to_device(self) -> int:
        """How many were uploaded."""
        return self.of(Direction.HOST_TO_DEVICE).count

    @property
    def device_to_device(self) -> int:
        """How many went from one device to another."""
        return self.of(Direction.DEVICE_TO_DEVICE).count

    @property
    def count(self) -> int:
        """How many crossed in all."""
        return sum(transfer.count for transfer in self)

    @property
    def bytes(self) -> int:
        """Of how many bytes they were in all."""
        return sum(transfer.bytes for transfer in self)

    def __str__(self) -> str:
        return "\n".join(map(_line, self)) or "no transfers"

    def __repr__(self) -> str:
        return f"<{self.count} transfers at {len(self)} lines>"


def _line(transfer: Transfer) -> str:
    direction = transfer.direction.replace("_", " ")
    place = f"{transfer.path}:{transfer.line} in {transfer.function}" if transfer.path else transfer.place
    return f"{place}: {transfer.count} {transfer.asked}, {direction}, {transfer.bytes} bytes"


@contextmanager
def record(backend: str = "auto") -> Iterator[Transfers]:
    """``with record() as transfers:`` records what this process transfers in the block, in whatever thread. What is
    given can be read at once, and stays as it was when the block ended."""
    inside = watch_inside(backend)
    before = inside.recording.sums()
    last: list[Sequence[Transfer]] = []
    try:
        yield Transfers(lambda: last[0] if last else _transfers(inside, before))
    finally:
        last.append(_transfers(inside, before))


def _transfers(inside: "Inside", before: "Sums") -> list[Transfer]:
    here = Path.cwd()
    made = [with_shown_path(_transfer(site), here) for site in inside.recording.since(before)]
    return sorted(made, key=lambda transfer: (transfer.cost, transfer.path, transfer.line))


def _transfer(site: "Site") -> Transfer:
    return Transfer(
        site.path, site.line, site.function, Direction(site.direction), site.explicit, site.count, site.bytes,
        site.seconds, site.thread, site.stack, allowed=site.allowed,
    )  # fmt: skip


class no_transfers:
    """Refuses implicit transfers of this thread, under JAX's own guard: a context manager and a decorator. Named
    directions alone, or all where none is named; explicit ones too with `explicit`."""

    def __init__(
        self,
        *,
        device_to_host: bool | None = None,
        host_to_device: bool | None = None,
        device_to_device: bool | None = None,
        explicit: bool = False,
        backend: str = "auto",
    ) -> None:
        named = {
            Direction.DEVICE_TO_HOST: device_to_host,
            Direction.HOST_TO_DEVICE: host_to_device,
            Direction.DEVICE_TO_DEVICE: device_to_device,
        }
        unnamed = not any(named.values())
        self.directions = tuple(d for d, wanted in named.items() if (unnamed if wanted is None else wanted))
        self.explicit, self._inside = explicit, watch_inside(backend)
        self._entered = _Entered()

    def __enter__(self) -> None:
        try:
            levels = self._inside.refusing(self.directions, self.explicit)
        except RuntimeError as error:
            raise UserError(f"no_transfers: {error}") from None
        self._entered.levels.append(levels)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._entered.levels.pop().close()
        refused = self._inside.refusal_in(error) if error is not None else None
        if refused is not None and refused.direction.replace("-", "_") in self.directions:
            raise TransferError(refused) from error

    def __call__(self, function: Callable[P, R]) -> Callable[P, R]:
        if inspect.iscoroutinefunction(function) or inspect.isgeneratorfunction(function):
            raise TypeError(
                f"no_transfers: {function.__qualname__} gives its thread to others on the way, and the guard holds for "
                "the thread: put `with no_transfers():` around steps within it"
            )

        @functools.wraps(function)
        def guarded(*args: P.args, **kwargs: P.kwargs) -> R:
            with self:
                return function(*args, **kwargs)

        return guarded


class _Entered(threading.local):
    """The levels that each thread has entered."""

    def __init__(self) -> None:
        self.levels: list[ExitStack] = []


def watch(backend: str = "auto") -> None:
    """Begins to watch this process, which `record` and `no_transfers` else do when they are first called. The backend
    ``virtual`` has to be chosen so before the first array is made; ``auto`` takes an accelerator where jax has one,
    and ``sentinel`` elsewhere."""
    watch_inside(backend)


def watch_inside(backend: str = "auto") -> "Inside":
    """What watches this process. UserError where that can not be."""
    package = next((name for name in PACKAGES if name in sys.modules), PACKAGES[-1])
    inside = importlib.import_module(f"{package}.inside")
    try:
        watched: Inside = inside.watch(backend)
    except (RuntimeError, ValueError) as error:
        raise UserError(str(error)) from None
    return watched
