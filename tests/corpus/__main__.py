"""python -m tests.corpus --corpus DIR [--corpus DIR …] [--state DIR] [--mutations 2] [--most N]"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from tests.corpus.run import Job, read_state, run, table


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.corpus", description=__doc__)
    parser.add_argument("--corpus", action="append", type=Path, default=[], help="a folder of real files, or one file")
    parser.add_argument(
        "--state", type=Path, default=Path("var/corpus"), help="where to note what is done, to go on later"
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--mutations", type=int, default=2, help="mutations of each document, beside the original")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--most", type=int, help="at most this many documents")
    parser.add_argument("--stride", type=int, default=1, help="take one document of this many")
    parser.add_argument("--table", action="store_true", help="only print the table of what is done")
    given = parser.parse_args()
    if given.table:
        print(table(read_state(given.state)))
        return 0
    if not given.corpus:
        parser.error("give at least one --corpus DIR")
    job = Job(tuple(given.corpus), given.state, given.seed, given.mutations, given.processes, given.most, given.stride)
    return 1 if run(job) else 0


if __name__ == "__main__":
    sys.exit(main())
