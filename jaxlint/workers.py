"""Work done by several processes at once: the answers in the order of the questions, and nothing left behind."""

import os
import signal
from collections.abc import Callable, Sequence
from typing import TypeVar

from jaxlint.errors import UserError

Question = TypeVar("Question")
Answer = TypeVar("Answer")


def processors() -> int:
    """How many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def in_processes(work: Callable[[Question], Answer], questions: Sequence[Question], jobs: int) -> list[Answer]:
    """The answers, worked out by at most `jobs` processes; the first questions are begun first. `work` is a function of
    a module. Whatever stops this process meanwhile (an error, Ctrl-C) stops the others at once."""
    if not questions:
        return []
    # Here and not at the top: most checks are of one repository, and begin sooner without.
    import multiprocessing
    from concurrent.futures import ProcessPoolExecutor
    from concurrent.futures.process import BrokenProcessPool

    # Not by fork: a parser's threads may be alive in a process that embeds jaxlint.
    context = multiprocessing.get_context("spawn")
    executor = ProcessPoolExecutor(min(jobs, len(questions)), context, initializer=_leave_on_interrupt)
    before = set(multiprocessing.active_children())
    try:
        answers = list(executor.map(work, questions))
    except BaseException as error:
        for process in multiprocessing.active_children():
            if process not in before:
                process.terminate()
        executor.shutdown(cancel_futures=True)
        if isinstance(error, BrokenProcessPool):
            raise UserError(f"one of {jobs} processes was killed (out of memory?): give a smaller --jobs") from None
        raise
    executor.shutdown()
    return answers


def _leave_on_interrupt() -> None:
    """A Ctrl-C reaches all processes of a terminal: the first says what there is to be said."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
