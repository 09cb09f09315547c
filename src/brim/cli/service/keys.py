"""`brim keys`: manage virtual keys, which clients use instead of a provider's own."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict
from time import gmtime, strftime
from typing import Any

from brim import settings
from brim.cli.terminal.named_store import named_store
from brim.cli.terminal.writing import LINES, printable
from brim.errors import BadSetting
from brim.gateway.limits.allowance import allowance
from brim.gateway.limits.spending import spent
from brim.gateway.limits.virtual_keys import VirtualKey, create_key, revoke_key, virtual_keys
from brim.stores.protocol import Store

_EXAMPLES = """examples:
  brim keys create --upstream openai --budget 5M/month --rate 60/minute --name alice
  brim keys list
  brim keys revoke alice

The key is shown once; the store keeps its hash. The upstream needs a key of its own (upstreams.NAME.key_env)."""


def add(subparsers: Any) -> None:
    parser = subparsers.add_parser(
        "keys",
        help="create, list and revoke virtual keys",
        description="Virtual keys: clients send them to the gateway, and never hold the provider's key.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    verbs = parser.add_subparsers(dest="verb", required=True)
    create = verbs.add_parser("create", help="make a key and print it", description="Make a key and print it.")
    create.add_argument("--upstream", required=True, metavar="NAME", help="the upstream that it is for")
    create.add_argument("--budget", metavar="AMOUNT", help="input and output tokens in a time, such as 5M/month")
    create.add_argument("--rate", metavar="AMOUNT", help="requests in a time, such as 60/minute")
    create.add_argument("--name", default="", metavar="NAME", help="whose it is")
    listing = verbs.add_parser(
        "list", help="show all keys and what they used", description="Show all keys and what they used."
    )
    listing.add_argument("--json", action="store_true", help="print JSON lines")
    revoke = verbs.add_parser("revoke", help="refuse a key from now on", description="Refuse a key from now on.")
    revoke.add_argument("key", metavar="KEY", help="its id or its name")
    for verb in (create, listing, revoke):
        verb.add_argument("--store", metavar="STORE", help="the store of the gateways (from the settings: store.path)")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    with named_store(args.store, new=args.verb == "create") as store:
        if args.verb == "create":
            _create(store, args)
        elif args.verb == "list":
            for key in virtual_keys(store):
                print(json.dumps(asdict(key)) if args.json else _line(store, key))
        else:
            print(f"revoked {revoke_key(store, args.key).id}: gateways refuse it within seconds")
    return 0


def _create(store: Store, args: argparse.Namespace) -> None:
    known = settings.load().upstreams
    if args.upstream not in known or not known[args.upstream].key_env:
        raise BadSetting(
            "--upstream", f"{args.upstream!r} has no key of its own: set upstreams.{args.upstream}.key_env"
        )
    budget = allowance(args.budget, "--budget") if args.budget else None
    rate = allowance(args.rate, "--rate") if args.rate else None
    secret, _ = create_key(store, args.upstream, name=args.name, budget=budget, rate=rate)
    print(secret)


def _line(store: Store, key: VirtualKey) -> str:
    used = []
    for kind, what, allowed in (("tokens", "tokens", key.budget), ("requests", "requests", key.rate)):
        if allowed is not None:
            used.append(f"{spent(store, key.id, kind, allowed):,} of {allowed.most:,} {what} this {allowed.period}")
    made = strftime("%Y-%m-%d", gmtime(key.created))
    return f"{key.id}  {printable(key.name, LINES) or '-'}  {key.upstream}  {made}  {'; '.join(used) or 'no limits'}"
