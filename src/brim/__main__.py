"""The command `brim`, also available as `python -m brim`."""

import signal
import sys

# Until the command starts, Ctrl-C ends the process like a C program, because there is nothing to report.
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
