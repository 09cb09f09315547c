"""What a page looks like, as a sketch of 32 × 20 grey cells: other fonts do not matter, a lost chart does.

`BRIM_KEEP_LOOKS=1 make browser` keeps the sketches of this run in looks.json, for the next ones to be compared with.
"""

from __future__ import annotations

import base64
import json
import os
from pathlib import Path

from playwright.sync_api import Browser, Page

KEPT = Path(__file__).with_name("looks.json")
ACROSS, DOWN = 32, 20
# Of 16 shades: how far the mean cell may be off, and how many cells by more than three.
MEAN, FAR = 0.6, 24
DRAW = """async ([picture, across, down]) => {
  const image = new Image();
  image.src = 'data:image/png;base64,' + picture;
  await image.decode();
  const canvas = document.createElement('canvas');
  [canvas.width, canvas.height] = [across, down];
  const pen = canvas.getContext('2d');
  pen.imageSmoothingQuality = 'high';
  pen.drawImage(image, 0, 0, across, down);
  const shades = pen.getImageData(0, 0, across, down).data;
  let told = '';
  for (let at = 0; at < shades.length; at += 4)
    told += Math.min(15, Math.floor((shades[at] + shades[at + 1] + shades[at + 2]) / 48)).toString(16);
  return told;
}"""


def sketch(browser: Browser, page: Page) -> str:
    """The part of the page that is in view, a digit for each cell."""
    picture = base64.b64encode(page.screenshot()).decode()
    blank = browser.new_page()
    found: str = blank.evaluate(DRAW, [picture, ACROSS, DOWN])
    blank.close()
    return found


def changed(name: str, now: str) -> str:
    """How a page looks other than it did; empty where it does not."""
    kept: dict[str, str] = json.loads(KEPT.read_text()) if KEPT.exists() else {}
    if os.environ.get("BRIM_KEEP_LOOKS"):
        KEPT.write_text(json.dumps({**kept, name: now}, indent=0, sort_keys=True) + "\n")
        return ""
    if name not in kept:
        return f"{name} has not been kept: look at its picture, then BRIM_KEEP_LOOKS=1 make browser"
    off = [abs(int(a, 16) - int(b, 16)) for a, b in zip(kept[name], now, strict=True)]
    mean, far = sum(off) / len(off), sum(cell > 3 for cell in off)
    if mean <= MEAN and far <= FAR:
        return ""
    return f"{name} looks other than it did: {mean:.2f} shades off, {far} cells far: look at its picture"
