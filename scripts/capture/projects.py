"""The small projects that compilers, linters and test runners are pointed at: most of them have errors in them."""

from __future__ import annotations

import json
import shutil
import sqlite3
import subprocess
from collections.abc import Sequence
from pathlib import Path

SAMPLES = (Path(__file__).with_name("samples.txt"), Path(__file__).with_name("unseen.txt"))
# What a compiler of TypeScript is told so that it finds something in published sources.
STRICT = (
    "--strict --noUncheckedIndexedAccess --noPropertyAccessFromIndexSignature --exactOptionalPropertyTypes "
    "--noUnusedLocals --noImplicitReturns --target es2020 --moduleResolution node"
)
CITIES = ("Oslo", "Lyon", "Graz", "Turin", "Cork")


def make(place: Path, _tools: Sequence[Path]) -> None:
    """Write every project below `place`."""
    for name, text in _samples():
        path = place / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    _more_code(place)
    _data(place)
    _repository(place / "dirty")


def _samples() -> list[tuple[str, str]]:
    """The files of samples.txt and unseen.txt, each below a line `==> name <==`."""
    parts = "".join(path.read_text() for path in SAMPLES).split("==> ")[1:]
    return [(name, text) for name, _, text in (part.partition(" <==\n") for part in parts)]


def _more_code(place: Path) -> None:
    """Copies of a faulty function, so that compilers and linters have more to say than fits a screen."""
    for name, count in (("bad_c/one.c", 9), ("bad_c/two.c", 5), ("bad_ts/a.ts", 8), ("bad_ts/b.ts", 4)):
        _repeat(place / name, count)
    for name in ("bad_py/one.py", "bad_py/two.py", "bad_ts/one.js", "bad_ts/two.js", "bad_java/Main.java"):
        _repeat(place / name, 7)
    for name in (
        "bad_rust/src/main.rs",
        "warn_rust/src/main.rs",
        "rust_tests/src/lib.rs",
        "py_tests/test_shop.py",
        "badgo/main.go",
        "badgo/ship.go",
    ):
        _repeat(place / name, 6)
    shutil.copy(place / "bad_java/Main.java", place / "bad_maven/src/main/java/Main.java")


def _repeat(path: Path, count: int) -> None:
    """Write the part between `BEGIN` and `END` so many times, with its number for @."""
    head, _, rest = path.read_text().partition("BEGIN\n")
    body, _, tail = rest.partition("END\n")
    path.write_text(head + "".join(body.replace("@", str(n)) for n in range(count)) + tail)


def _data(place: Path) -> None:
    rows = [(n, f"customer {n * 37 % 91}", CITIES[n * 7 % 5], round(n * 13.7 % 400, 2), n % 3 == 0) for n in range(300)]
    with sqlite3.connect(place / "shop.db") as db:
        db.execute(
            "create table orders (id integer primary key, customer text not null, city text, total real, paid int)"
        )
        db.execute("create table items (id integer primary key, order_id integer references orders(id), name text)")
        db.executemany("insert into orders values (?, ?, ?, ?, ?)", rows)
        db.executemany("insert into items values (?, ?, ?)", [(n, n % 300, f"part {n % 17}") for n in range(900)])
    conf = place / "conf"
    for end, sign in (("csv", ","), ("tsv", "\t")):
        lines = [sign.join(map(str, row)) for row in [("id", "customer", "city", "total", "paid"), *rows]]
        (conf / f"orders.{end}").write_text("\n".join(lines) + "\n")
    (conf / "data.json").write_text(json.dumps([{"id": n, "name": name, "city": city} for n, name, city, *_ in rows]))
    for name, cells in (("one", 12), ("two", 40)):
        (conf / f"{name}.ipynb").write_text(json.dumps(_notebook(cells), indent=1))


def _notebook(cells: int) -> dict[str, object]:
    made = [
        {"cell_type": "markdown", "metadata": {}, "source": [f"## Step {n}\n", "The totals by city."]}
        if n % 2
        else {
            "cell_type": "code",
            "execution_count": n,
            "metadata": {},
            "outputs": [{"name": "stdout", "output_type": "stream", "text": [f"{n * 3} rows\n"]}],
            "source": [
                "import pandas as pd\n",
                f"frame = pd.read_csv('orders-{n}.csv')\n",
                "frame.groupby('city').sum()",
            ],
        }
        for n in range(cells)
    ]
    return {"cells": made, "metadata": {"language_info": {"name": "python"}}, "nbformat": 4, "nbformat_minor": 5}


def _repository(place: Path) -> None:
    """A repository with branches, staged, changed, ignored and unknown files."""
    place.mkdir()
    who = ["-c", "user.name=Ada", "-c", "user.email=ada@example.com"]

    def git(*words: str) -> None:
        subprocess.run(["git", *who, *words], cwd=place, check=True, capture_output=True)

    git("init", "-q", "-b", "main")
    for n in range(14):
        (place / f"module_{n}.py").write_text(f"value = {n}\n")
    (place / ".gitignore").write_text("*.tmp\n")
    git("add", ".")
    git("commit", "-q", "-m", "Begin")
    for name in ("fix/totals", "feature/refunds", "feature/cities", "release-1", "release-2", "spike"):
        git("branch", name)
    for n in range(14):
        (place / f"module_{n}.py").write_text(f"value = {n + 1}\nother = {n}\n")
        (place / f"new_{n}.py").write_text("x = 1\n")
        (place / f"left_{n}.tmp").write_text("x")
    git("add", "module_1.py", "module_2.py", "new_3.py", "new_4.py")
    git("rm", "-q", "--cached", "module_9.py")
