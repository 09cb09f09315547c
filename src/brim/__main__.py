"""`python -m brim` is the command `brim`."""

import sys

from brim.cli import main

sys.exit(main())
