"""The command `brim`, which `python -m brim` is, too."""

import signal
import sys

# Until the command has begun, Ctrl-C ends the process as it ends a program in C: there is nothing to tell.
HANDLED = signal.getsignal(signal.SIGINT)
if HANDLED is signal.default_int_handler:
    signal.signal(signal.SIGINT, signal.SIG_DFL)

from brim.cli import main  # noqa: E402, what takes long to load comes after the line above


def start() -> int:
    """Run the command. From the first import to the last write, Ctrl-C shows no traceback."""
    signal.signal(signal.SIGINT, HANDLED)
    try:
        return main()
    finally:
        if HANDLED is signal.default_int_handler:
            signal.signal(signal.SIGINT, signal.SIG_DFL)


if __name__ == "__main__":
    sys.exit(start())
