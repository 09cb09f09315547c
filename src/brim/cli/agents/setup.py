"""`brim setup`: point a coding agent at the gateway permanently; `--undo` restores its files byte for byte."""

from __future__ import annotations

import argparse
import base64
import json
from pathlib import Path
from typing import Any

from brim import settings
from brim.cli.agents.catalog import AGENTS, agent_of
from brim.cli.agents.undo import taken_out
from brim.errors import BadInput, NotFound

_EXAMPLES = """examples:
  brim setup claude            Claude Code asks the gateway from now on
  brim setup claude --undo     its configuration is as it was, to the byte
"""


def add(subparsers: Any) -> None:
    """Register `setup` with the command line."""
    parser = subparsers.add_parser(
        "setup",
        help="point a coding agent at the gateway for good",
        description="Point a coding agent at the gateway in its own configuration, with a backup.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("agent", choices=tuple(AGENTS), help=f"one of {', '.join(AGENTS)}")
    parser.add_argument("--undo", action="store_true", help="put the configuration back as it was")
    parser.add_argument(
        "--force", action="store_true", help="undo where later changes leave no other way; they are lost"
    )
    parser.add_argument("--url", metavar="URL", help="the gateway's address (from the settings: http://127.0.0.1:8787)")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    agent = agent_of(args.agent)
    backup = backup_of(agent.name)
    if args.undo:
        for path, whole in _undo(Path.home() / agent.file, backup, args.force):
            print(f"{path} is as it was" if whole else f"{path} is without Brim; what was changed since stays")
        return 0
    if backup.exists():
        raise BadInput("agent", f"{agent.name} is set up already: `brim setup {agent.name} --undo` first")
    url = (args.url or f"http://127.0.0.1:{settings.load().gateway.port}").rstrip("/")
    files, kept = [], []
    for name, edited in agent.edits:  # compute all edits before writing any, because one may be refused
        path = Path.home() / name
        before = path.read_bytes() if path.exists() else None
        after = edited((before or b"").decode(), url).encode()
        held = None if before is None else base64.b64encode(before).decode()
        files.append((path, after))
        kept.append({"path": str(path), "before": held, "after": base64.b64encode(after).decode()})
    backup.parent.mkdir(parents=True, exist_ok=True)
    backup.touch(mode=0o600)  # a configuration may contain a key
    backup.write_text(json.dumps({"files": kept}))
    for path, after in files:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(after)
    print(f"{files[0][0]} points at {url}; `brim setup {agent.name} --undo` takes it back")
    return 0


def backup_of(name: str) -> Path:
    """The path of the backup of an agent's configuration."""
    return Path.home() / ".local/state/brim/setup" / f"{name}.json"


def _undo(first: Path, backup: Path, force: bool) -> list[tuple[Path, bool]]:
    """Take back what was written; which files these are, and whether each is as it was to the byte."""
    if not backup.exists():
        raise NotFound(f"{first} was not changed by `brim setup`: there is nothing to undo")
    kept = [(Path(one["path"]), one) for one in json.loads(backup.read_text())["files"]]
    undone = [(path, *_undone(path, one["before"], base64.b64decode(one["after"]), force)) for path, one in kept]
    for path, text, _ in undone:  # all are known before one is written: a change may leave no way
        if text is None:
            path.unlink(missing_ok=True)
        else:
            path.write_bytes(text)
    backup.unlink()
    return [(path, whole) for path, _, whole in undone]


def _undone(path: Path, held: str | None, after: bytes, force: bool) -> tuple[bytes | None, bool]:
    """What a file is to be, None for no file, and whether that is what it was."""
    before = None if held is None else base64.b64decode(held)
    now = path.read_bytes() if path.exists() else b""
    if now == after or force:
        return before, True
    left = taken_out(now.decode(), (before or b"").decode(), after.decode())
    if left is None:
        raise BadInput(str(path), "was changed since: --force puts the old one back, and your changes are lost")
    same = left.encode() == (before or b"")
    return (before if same else left.encode()), same
