"""Logs in layouts that no published set has, made up from what systems print: `capture-commands --unseen` writes them.

Each has its own way to say when, who and what; the messages are of a few templates with varying fields.
"""

# ruff: noqa: E501

from __future__ import annotations

import random
from pathlib import Path

LINES = 120
_SAID = (
    "crane {a} lifted crate C-{b} in {c} ms",
    "berth {a} is free",
    "ship {w} asked for berth {a}",
    "pressure {f} bar at valve {a}",
    "retry {a} of 5 for upstream {w}",
    "lock on shard {a} held {c} ms by {w}",
    "cache miss for key {h}",
    "closing session {h} after {b} bytes",
    "cannot reach gate {a}: timed out after {f} s",
    "queue {w} holds {b} items",
    "battery at {a}% on rover {w}",
    "user {w} signed in from 10.0.{a}.{a}",
)
# {t}: hour, minute, second; {n}: how many lines came before; the rest is drawn for each line.
LAYOUTS: dict[str, str] = {
    "mainframe": "{H}.{M}.{S} JOB{b:05}  $HASP{c} {m}",
    "cisco": "*Mar  {d} {H}:{M}:{S}.{c}: %LINK-{a}-UPDOWN: {m}",
    "unreal": "[2026.02.{d:02}-{H}.{M}.{S}:{c}][{a:3}]LogHarbour: Display: {m}",
    "minecraft": "[{H}:{M}:{S}] [Server thread/{L}]: {m}",
    "ampm": "{h12}:{M}:{S} PM <{w}> {m}",
    "tai64n": "@4000000065{h8}{h8} {m}",
    "sequence": "{n:06}|{w}|{m}",
    "bare": "worker-{a} {m}",
    "trailing": "{m} -- {w}/{a} @ {H}h{M}",
    "klog": "{L1}02{d:02} {H}:{M}:{S}.{c:06}   {b:5} {w}.go:{a}] {m}",
    "rfc5424": "<{b}>1 2026-02-{d:02}T{H}:{M}:{S}.{c}Z {w} harbourd {b} - - {m}",
    "logfmt": "at={L} who={w} dur={c}ms msg=\"{m}\"",
    "iis": "2026-02-{d:02} {H}:{M}:{S} W3SVC1 10.0.0.{a} GET /berths/{b} - 443 - 10.1.{a}.9 {w}/2.0 200 0 0 {c}",
    "cef": "CEF:0|Harbour|Gate|1.{a}|{b}|{m}|{a}|src=10.0.0.{a} dst=10.0.1.{a} spt={b}",
    "candump": "({n}.{c:06}) can0 {h8}#{h16}",
    "julian": "2026{d:03}/{H}{M}{S} {w:<8} {m}",
    "french": "{d} février 2026 à {H}h{M} : {m}",
    "elapsed": "  harbour:{w} {m} +{c}ms",
    "bracketed": "[{w}][{a}][{L}] {m}",
    "dashed": "--- {w} --- {L} --- {m}",
    "hexstamp": "0x{h8} {w} {m}",
    "tabs": "{n}\t{w}\t{L}\t{m}",
    "semicolon": "{d}/02/26;{H}:{M};{w};{m}",
    "erlang": "{H}:{M}:{S}.{c} [{l}] <0.{b}.0> {m}",
    "vms": "%HARBOUR-{L1}-{w}, {m}, at {d}-FEB-2026 {H}:{M}:{S}.{a:02}",
    "pid": "{w}[{b}]: {m}",
    "ticks": "T+{n}.{c}s  {w}  {m}",
    "kernel": "[{n:5}.{c:06}] {w} 0000:0{a}:00.0: {m}",
    "keyed": "time: {H}:{M}:{S}, source: {w}, level: {l}, message: {m}",
    "weekday": "Tue{d:02} {H}{M} {w}: {m}",
    "arrow": "{w} -> {w2}: {m} ({c} us)",
    "gauge": "{w}.berth.{a} {c}.{b} 17{n:08}",
    "caret": "^{H}^{M}^{S}^{w}^{m}",
    "stars": "*** {L} *** {m} *** {w}",
    "epochms": "17{n:011} {l} {w} - {m}",
    "yearlast": "{H}:{M} {d}.2.2026 {w} {m}",
}  # fmt: skip
_NAMES = ("orca", "lynx", "heron", "vole", "stoat", "raven")
_LEVELS = ("INFO", "INFO", "INFO", "WARN", "ERROR", "DEBUG")


def write(out: Path) -> None:
    """Two logs of every layout: out/NAME.log/00.txt and 01.txt."""
    for number, (name, layout) in enumerate(LAYOUTS.items()):
        folder = out / f"layout-{name}.log"
        folder.mkdir(parents=True, exist_ok=True)
        for part in range(2):
            rnd = random.Random(number * 2 + part)
            said = rnd.sample(_SAID, 4 + part * 4)
            lines = [layout.format(m=rnd.choice(said), **_drawn(rnd, n)) for n in range(LINES)]
            filled = [line.format(**_drawn(rnd, 0)) if "{" in line else line for line in lines]
            (folder / f"{part:02}.txt").write_text("\n".join(filled) + "\n")


def _drawn(rnd: random.Random, n: int) -> dict[str, object]:
    second = 3 * n + rnd.randrange(3)
    level = rnd.choice(_LEVELS)
    return {
        "a": rnd.randrange(1, 9), "b": rnd.randrange(100, 9_999), "c": rnd.randrange(100, 999), "d": 1 + n // 50,
        "f": f"{rnd.random() * 9:.2f}", "h": f"{rnd.getrandbits(32):08x}", "h8": f"{rnd.getrandbits(32):08x}",
        "h16": f"{rnd.getrandbits(64):016X}", "w": rnd.choice(_NAMES), "w2": rnd.choice(_NAMES), "n": 4_000 + n,
        "H": f"{9 + second // 3_600:02}", "M": f"{second // 60 % 60:02}", "S": f"{second % 60:02}", "h12": 9 + second // 3_600,
        "L": level, "l": level.lower(), "L1": level[0],
    }  # fmt: skip
