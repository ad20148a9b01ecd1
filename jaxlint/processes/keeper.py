"""``python -I -S keeper.py DESCRIPTOR WORDS…``: the parent of a program of the user's, in jaxlint's place.

What a program does to its parent is done to this process, and what jaxlint knows by then survives. It starts the
program with the signals, descriptors and limits that it was given itself, writes its number (or why there is none) to
the descriptor, and ends as the program ends. It is run by its path, and imports nothing of jaxlint.
"""

import os
import signal
import sys

# What the terminal, or jaxlint, sends to the whole group is the program's business.
PASSED_OVER = ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT")
# Python itself passes these over; a program starts without that.
OF_PYTHON = ("SIGPIPE", "SIGXFZ", "SIGXFSZ")
NOT_STARTED = 127


def main(descriptor: int, words: "list[str]") -> None:
    """Starts the program, waits for it and ends as it does."""
    os.set_inheritable(descriptor, False)
    passed_over = [getattr(signal, name) for name in PASSED_OVER]
    # What was passed over before (`nohup`) stays so in the program.
    restored = [number for number in passed_over if signal.getsignal(number) is not signal.SIG_IGN]
    restored += [getattr(signal, name) for name in OF_PYTHON if hasattr(signal, name)]
    for number in passed_over:
        signal.signal(number, signal.SIG_IGN)
    try:
        program = os.posix_spawnp(words[0], words, os.environ, setsigdef=restored)
    except OSError as error:
        os.write(descriptor, f"!{error.strerror}\n".encode())
        os._exit(NOT_STARTED)
    os.write(descriptor, f"{program}\n".encode())
    os.close(descriptor)
    status = os.waitstatus_to_exitcode(os.waitpid(program, 0)[1])
    if status < 0:
        end_by(-status)
    os._exit(status)


def end_by(number: int) -> None:
    """Ends this process by a signal, without a dump of its memory: that of the program was written."""
    import resource

    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if number not in (signal.SIGKILL, signal.SIGSTOP):
        signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2:])
