"""`python -m brim` is the command `brim`."""

import signal
import sys

# Until the command has begun, Ctrl-C ends the process as it ends a program in C: there is nothing to tell.
signal.signal(signal.SIGINT, signal.SIG_DFL)

from brim.cli import main  # noqa: E402, what takes long to load comes after the line above

if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)
    code = main()
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    sys.exit(code)
