"""`brim serve`: run the gateway; --demo adds sample traffic to watch."""

from __future__ import annotations

import argparse
import importlib
import sys
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any

from brim import settings
from brim.errors import BadSetting, BrimError

_EXAMPLES = """examples:
  brim serve                                        for OpenAI, Anthropic and Gemini, with the clients' own keys
  brim serve --upstream http://127.0.0.1:8080       in front of a server of your own (llama.cpp, vLLM, Ollama …)
  brim serve --config brim.toml --port 9000
  brim serve --demo                                 two sample agents to look at, without any key

point clients at it:
  OPENAI_BASE_URL=http://127.0.0.1:8787/v1    ANTHROPIC_BASE_URL=http://127.0.0.1:8787
"""


def add(subparsers: Any) -> None:
    """Register `serve` with the command line."""
    parser = subparsers.add_parser(
        "serve",
        help="run the gateway",
        description="Run the gateway: a proxy that fits each request into its context window.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--host", metavar="H", help="address to listen on (127.0.0.1)")
    parser.add_argument("--port", type=int, metavar="P", help="port to listen on (8787; 0 takes a free one)")
    parser.add_argument("--upstream", metavar="URL", help="the one provider to forward to, whatever the API")
    parser.add_argument("--config", metavar="FILE", help="settings to use instead of the nearest brim.toml")
    parser.add_argument("--recall", choices=("auto", "tool", "off"), help="how archived content comes back (auto)")
    parser.add_argument(
        "--clear-tool-uses",
        action="append",
        default=[],
        metavar="MODEL",
        help="switch on Anthropic's own context management for these models; patterns allowed",
    )
    parser.add_argument("--memory", action="store_true", help="keep nothing on disk")
    parser.add_argument("--otel", action="store_true", help="send spans and metrics as the OTEL_… variables say")
    parser.add_argument("--workers", type=int, default=1, metavar="N", help="processes that share the port (1)")
    parser.add_argument("--share-port", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--demo", action="store_true", help="let two sample agents talk; needs no key")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    serving = importlib.import_module("brim.gateway.server.serving")  # needs the extra `gateway`
    if args.upstream is not None and not args.upstream.startswith(("http://", "https://")):
        raise BadSetting("--upstream", f"{args.upstream!r} is not an address such as http://127.0.0.1:8080")

    def loaded(texts: Mapping[Path, str] = MappingProxyType({})) -> settings.Settings:
        start = Path(args.config) if args.config else None
        if start is not None and not start.is_file():
            raise BadSetting("--config", f"there is no file {args.config}")
        # The sample is Brim's own text, so the demo may show content.
        given = {"host": args.host, "port": args.port, "recall": args.recall, "log_content": args.demo or None}
        gateway = {name: value for name, value in given.items() if value is not None}
        return settings.load(start, texts=texts, gateway=gateway)

    if args.workers != 1:
        return _several(args, loaded())
    if args.demo:
        importlib.import_module("brim.gateway.demo.playing").run(loaded())
    else:
        given = {"in_memory": args.memory, "otel": args.otel, "shared": args.share_port}
        serving.serve(loaded, args.upstream or "", tuple(args.clear_tool_uses), **given)
    return 0


def _several(args: argparse.Namespace, loaded: settings.Settings) -> int:
    """Serve with several processes that share the store."""
    serving = importlib.import_module("brim.gateway.server.serving")
    processes = importlib.import_module("brim.gateway.server.serving_processes")
    if args.workers < 1 or args.demo or args.memory:
        what = "--demo and --memory are for one process" if args.workers > 0 else "it takes at least one process"
        raise BadSetting("--workers", f"{what}: several share a store on disk or in a database")
    kept = processes.reserved(loaded.gateway.host, loaded.gateway.port)
    given = ["--port", str(kept.getsockname()[1])]
    for name in ("host", "upstream", "config", "recall"):
        given += [f"--{name}", value] if (value := getattr(args, name)) is not None else []
    for model in args.clear_tool_uses:
        given += ["--clear-tool-uses", model]
    given += ["--otel"] if args.otel else []
    with kept:
        said = partial(serving.say_where, kept, f", {args.workers} processes")
        return int(processes.ServingProcesses(args.workers, given, said).run())


def main(argv: Sequence[str] | None = None) -> int:
    """Run `brim serve` by itself: `python -m brim.cli.service.serve --port 9000`."""
    parser = argparse.ArgumentParser(prog="brim")
    add(parser.add_subparsers(required=True))
    args = parser.parse_args(["serve", *(sys.argv[1:] if argv is None else argv)])
    try:
        return run(args)
    except BrimError as problem:
        print(f"brim serve: {problem}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
