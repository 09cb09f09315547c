"""`brim sessions`: list, show, export, import and delete the conversations of a store."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from brim import apis
from brim.cli.terminal.named_store import named_store
from brim.cli.terminal.reading import as_text, read_bytes
from brim.cli.terminal.showing import plain, plural
from brim.cli.terminal.writing import in_terminal, printable, put
from brim.conversation import Message
from brim.errors import BadInput, NotFound
from brim.sessions.session import Session
from brim.sessions.session_codec import row_of, rows_in
from brim.stores.log_records import replayed
from brim.stores.protocol import SessionRecord, Store

LISTED = 50
PREVIEW = 100
_EXAMPLES = """examples:
  brim sessions list                            those used last
  brim sessions list gpt-4o --json              with this in their id, model or policy
  brim sessions show 3f2a9c01                   what was said in one of them
  brim sessions export 3f2a9c01 --out chat.jsonl
  brim sessions import chat.jsonl --id copy-of-it
  brim sessions delete 3f2a9c01
"""


def add(subparsers: Any) -> None:
    """Register `sessions` with the command line."""
    parser = subparsers.add_parser(
        "sessions",
        help="list, show, export, import and delete sessions",
        description="The conversations of a store, as sessions and the gateway have left them there. An id may be cut "
        "short as long as only one session begins with it.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(dest="sessions_command", required=True, metavar="COMMAND")
    listing = _sub(commands, "list", "list the sessions used last, newest first", run_list)
    listing.add_argument("query", metavar="TEXT", nargs="?", default="", help="only those with this in id or settings")
    listing.add_argument("--limit", type=int, default=LISTED, metavar="N", help=f"at most so many ({LISTED})")
    listing.add_argument("--json", action="store_true", help="print JSON lines")
    showing = _sub(commands, "show", "show what was said in a session", run_show)
    showing.add_argument("id", metavar="ID", help="the session's id, or how it begins")
    showing.add_argument("--json", action="store_true", help="print the messages as JSON lines")
    exporting = _sub(commands, "export", "write a session as JSON lines: what it is, then each message", run_export)
    exporting.add_argument("id", metavar="ID", help="the session's id, or how it begins")
    exporting.add_argument("--out", metavar="FILE", help="write there instead of to standard output")
    importing = _sub(commands, "import", "take a session from what `export` wrote", run_import)
    importing.add_argument("file", metavar="FILE", help="the JSON lines; - is standard input")
    importing.add_argument("--id", metavar="ID", help="under this id instead of its own")
    deleting = _sub(commands, "delete", "delete sessions and what only they refer to", run_delete)
    deleting.add_argument("ids", metavar="ID", nargs="+", help="their ids, or how they begin")


def _sub(commands: Any, name: str, help: str, run: Any) -> argparse.ArgumentParser:
    examples = [line for line in _EXAMPLES.splitlines() if f" sessions {name}" in line]
    parser: argparse.ArgumentParser = commands.add_parser(
        name,
        help=help,
        description=help,
        epilog="\n".join(["examples:", *examples]),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--store", metavar="STORE", help="the store (from the settings: store.path)")
    parser.set_defaults(run=run)
    return parser


def _found(store: Store, id: str) -> SessionRecord:
    """The session with this id, or the only one whose id starts with it. Raises NotFound, BadInput."""
    whole = store.get_session(id)
    if whole is not None:
        return whole
    near = [record for record in store.sessions(LISTED, query=id) if record.id.startswith(id)] if id else []
    if not near:
        raise NotFound(f"there is no session {id!r}: `brim sessions list` shows those that there are")
    if len(near) > 1:
        some = ", ".join(record.id for record in near[:4])
        raise BadInput("ID", f"{id!r} begins {len(near)} of them ({some}, …): give more of it")
    return near[0]


def run_list(args: argparse.Namespace) -> int:
    if args.limit < 1:
        raise BadInput("--limit", "must be 1 or more")
    with named_store(args.store) as store:
        found = store.sessions(args.limit, query=args.query)
    if args.json:
        for record in found:
            print(json.dumps(asdict(record)))
    elif found:
        Console().print(_table(found))
    else:
        print("no session" + (f" with {args.query!r}" if args.query else "") + " in the store")
    return 0


def _table(found: Sequence[SessionRecord]) -> Table:
    table = Table(box=None, header_style="bold")
    for name in ("id", "last used (UTC)", "model", "policy"):
        table.add_column(name, overflow="fold")
    for name in ("records", "KB"):
        table.add_column(name, justify="right", no_wrap=True)
    for record in found:
        meta = record.meta
        table.add_row(
            plain(record.id),
            _when(record.touched),
            plain(str(meta.get("model", ""))),
            plain(str(meta.get("policy", ""))),
            f"{record.records:,}",
            f"{record.size / 1000:,.1f}",
        )
    return table


def _when(seconds: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M", time.gmtime(seconds))


def run_show(args: argparse.Namespace) -> int:
    with named_store(args.store) as store:
        record = _found(store, args.id)
        messages = _log(store, record)
    if args.json:
        for message in messages:
            put(row_of(message) + "\n")
        return 0
    meta = {**record.meta, "first used": _when(record.created), "last used": _when(record.touched)}
    told = " · ".join(f"{key} {value}" for key, value in meta.items() if value is not None)
    console = Console(highlight=False)
    console.print(Text(f"{printable(record.id)}\n{printable(told)}\n{plural(len(messages), 'message')}", style="bold"))
    for number, message in enumerate(messages):
        said = " ".join(message.text[: 2 * PREVIEW].split())
        short = said[: PREVIEW - 1] + "…" if len(said) > PREVIEW else said
        console.print(Text(f"{number:>5} {message.role:<9} {printable(short)}"))
    return 0


def _log(store: Store, record: SessionRecord) -> list[Message]:
    """The messages of a session; reading them doesn't need its model."""
    api = apis.api_of(str(record.meta.get("api") or "openai_chat"))
    return replayed(store.records(record.id), api.messages.get)


def run_export(args: argparse.Namespace) -> int:
    with named_store(args.store) as store:
        lines = "".join(f"{line}\n" for line in Session.load(_found(store, args.id).id, store=store).export())
    data = lines.encode("utf-8", "surrogatepass")
    if args.out:
        Path(args.out).write_bytes(data)
    elif in_terminal():
        put(lines)
    else:
        sys.stdout.flush()
        sys.stdout.buffer.write(data)
    return 0


def run_import(args: argparse.Namespace) -> int:
    rows = rows_in(as_text(read_bytes(args.file), args.file))
    with named_store(args.store, new=True) as store:
        head = _head(rows)
        head["id"] = args.id or head.get("id")
        if store.get_session(str(head["id"])) is not None:
            raise BadInput("id", f"there is a session {head['id']!r} already: delete it, or give another --id")
        session = Session.import_([json.dumps(head), *rows[1:]], store=store)
        count = len(session.log)
    print(f"{printable(session.id)}  {plural(count, 'message')}")
    return 0


def _head(rows: Sequence[str]) -> dict[str, Any]:
    try:
        head = json.loads(rows[0])
    except (IndexError, ValueError) as problem:
        raise BadInput("line 1", f"is not the head of an exported session ({problem})") from None
    if not isinstance(head, dict):
        raise BadInput("line 1", "is not the head of an exported session")
    return head


def run_delete(args: argparse.Namespace) -> int:
    with named_store(args.store) as store:
        for id in [_found(store, given).id for given in args.ids]:
            store.delete_session(id)
            print(f"deleted {printable(id)}")
    return 0
