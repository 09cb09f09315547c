"""JSON: how small without loss, against TOON's own sets, and how full an extract fills its room."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from content_parts.halves import Row, count

import brim

TOON = Path(__file__).resolve().parent.parent / "peers" / "toon"


def rows(data: Path, node_modules: Path | None) -> list[Row]:
    """Lossless tokens ÷ minified; then each of TOON's sets against TOON."""
    bodies = [json.loads(line)["body"] for line in (data / "json_tool_outputs.jsonl").read_text().splitlines()]
    texts = [minified(json.loads(body) if isinstance(body, str) else body) for body in bodies]
    found = [
        Row("JSON lossless ÷ minified", _ratio(texts[1::2]), _ratio(texts[::2]), "1.000", "<= .26"),
        Row("JSON at 10%: fill where something is left out", _fill(texts[1::2]), _fill(texts[::2]), "–", ">= .95"),
    ]
    sets = sorted((data / "toon").glob("*.json"))
    if node_modules is None or not sets:
        return found
    for number, (path, theirs) in enumerate(zip(sets, _toon(node_modules, sets), strict=True)):
        ours = count(brim.compact(minified(json.loads(path.read_text()))).text)
        shown = f"{ours:,}"
        odd = number % 2
        found.append(
            Row(f"TOON set {path.stem}: tokens", shown if odd else "–", "–" if odd else shown, "–", f"<= {theirs}")
        )
    return found


def minified(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _ratio(texts: list[str]) -> str:
    before = after = wrong = 0
    for text in texts:
        form = brim.compact(text)
        wrong += brim.decode(form.text) != json.loads(text)
        before += count(text)
        after += count(form.text)
    return f"{after / before:.3f}" + (f" ({wrong} decode wrong)" if wrong else "")


def _fill(texts: list[str]) -> str:
    """How full the rooms are in which something is left out."""
    shares = []
    for text in texts:
        room = count(text) // 10
        form = brim.compact(text, room)
        if room > 60 and not form.lossless:
            shares.append(form.tokens / room)
    return f"{sum(shares) / len(shares):.3f}"


def _toon(node_modules: Path, sets: list[Path]) -> Iterator[int]:
    """Tokens of TOON's encoding of each set."""
    script = (
        "import {encode} from process.argv[1]; import {readFileSync} from 'node:fs';"
        "console.log(JSON.stringify(process.argv.slice(2).map(p => encode(JSON.parse(readFileSync(p, 'utf8'))))))"
    ).replace("import {encode} from process.argv[1];", "const {encode} = await import(process.argv[1]);")
    module = node_modules / "@toon-format" / "toon" / "dist" / "index.mjs"
    command = ["node", "--input-type=module", "-e", script, str(module), *map(str, sets)]
    told = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    yield from map(count, json.loads(told))
