"""JSON Lines: a JSON value on every line."""

from __future__ import annotations

from brim.content.json.exact import Loaded, load


def load_lines(text: str) -> Loaded:
    """Return the values of the lines as one list. Raises ValueError unless there are several and each is one."""
    lines = [line for line in text.split("\n") if line.strip()]
    if len(lines) < 2:
        raise ValueError("not JSON Lines")
    found = [load(line) for line in lines]
    proof = b"[" + b",".join([line.proof for line in found]) + b"]"
    return Loaded([line.value for line in found], proof, "\n".join([line.minified for line in found]))
