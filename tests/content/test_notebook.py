"""Notebooks: headings and every cell's first line before the rest of any cell."""

from __future__ import annotations

import json

import brim


def notebook(cells: int = 20) -> str:
    made = []
    for n in range(cells):
        made.append({"cell_type": "markdown", "metadata": {}, "source": [f"## Part {n}\n", "Some words. " * 40]})
        printed = {"output_type": "stream", "name": "stdout", "text": [f"loss {n}\n"] * 30}
        drawn = {"output_type": "display_data", "data": {"image/png": "iVBOR" * 900, "text/plain": ["<Figure>"]}}
        source = [f"model_{n} = train({n})\n", *(f"check(model_{n}, {at})\n" for at in range(12))]
        made.append({"cell_type": "code", "execution_count": n, "outputs": [printed, drawn], "source": source})
    return json.dumps({"cells": made, "metadata": {}, "nbformat": 4, "nbformat_minor": 5})


def test_headings_and_the_first_line_of_every_cell_outlast_the_rest() -> None:
    got = brim.compact(notebook(), 700).text
    assert got.startswith("[notebook, 40 cells, 20 of code]\n")
    assert all(f"## Part {n}\n" in got for n in range(20))
    assert all(f"model_{n} = train({n})" in got for n in range(20))
    assert got.count("…") == 1


def test_pictures_are_told_by_their_kind_and_size() -> None:
    got = brim.compact(notebook(2), 900).text
    assert "Out: image/png, 4,500 characters" in got
    assert "iVBOR" not in got
    assert "loss 1" in got


def test_an_error_of_a_cell_is_told() -> None:
    failed = {"output_type": "error", "ename": "KeyError", "evalue": "'city'", "traceback": ["long " * 400]}
    cell = {"cell_type": "code", "execution_count": 7, "outputs": [failed], "source": "rows['city']"}
    text = json.dumps({"cells": [cell], "metadata": {"more": "word " * 300}, "nbformat": 4})
    assert "In [7]: rows['city']\nOut: KeyError: 'city'" in brim.compact(text, 100).text
