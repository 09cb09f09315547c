"""The store of many machines: PostgreSQL 14 or later, also behind pgbouncer in transaction mode."""

from __future__ import annotations

from importlib.util import find_spec

from brim.errors import MissingExtra

try:
    lacking = next((name for name in ("psycopg", "psycopg_pool") if find_spec(name) is None), None)
except ValueError:  # a module that a program has blocked from being imported
    lacking = "psycopg"
if lacking:
    raise MissingExtra("the PostgreSQL store", "postgres")
