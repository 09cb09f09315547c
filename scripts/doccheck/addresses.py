"""The reference of the gateway's own addresses, made from its OpenAPI document and its metrics."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from brim.gateway.admin.openapi import document
from brim.gateway.observe import metrics

HEAD = """Brim's own addresses on the gateway. Everything else goes to a provider: [Run the gateway](gateway.md).
`/brim/v1/openapi.json` is the same for programs. Where the gateway has an access token, these ask for it too.

```console
$ curl -s localhost:8787/brim/v1/count -d '{"model": "gpt-4o", "text": "hello world"}'
{"tokens":2,"upper":3,"source":"exact","messages":[],"head":0}
```

An error is `{"error": {"code": …, "message": …}}`. Content is shown only with `gateway.log_content`, masked by
`gateway.redact`. The messages of the last turns are held in memory for these views and go with the process.
"""
BESIDE = """
| address | what it gives |
|---|---|
| `GET /healthz` | 200 while the process runs, and its version |
| `GET /readyz` | 200 while it takes requests, 503 while it starts or ends; with the token, whether the store is well |
| `GET /metrics` | the numbers below |
| `GET /brim/v1/events` | turns as they end, as server-sent events |
| `GET /brim/` | [the dashboard](dashboard.md) |
"""


def page(note: str) -> str:
    parts = [f"# HTTP API\n\n{note}{HEAD}"]
    for path, methods in document()["paths"].items():
        for method, told in methods.items():
            parts += _address(f"{method.upper()} {path}", told)
    parts.append(f"\n## Beside it\n{BESIDE}\n## Metrics\n\nPrometheus' text format.\n\n")
    parts.append("| metric | labels | what it is |\n|---|---|---|\n")
    parts += [_metric(name, *described[:2]) for name, described in metrics._COUNTERS.items()]
    parts += [_metric(name, *described[:2]) for name, described in metrics._HISTOGRAMS.items()]
    return "".join(parts)


def _metric(name: str, text: str, labels: tuple[str, ...]) -> str:
    return f"| `{name}` | {', '.join(f'`{label}`' for label in labels)} | {text} |\n"


def _address(name: str, told: Mapping[str, Any]) -> Iterator[str]:
    yield f"\n## {name}\n\n{told['summary']}.\n"
    rows = [*_parameters(told), *_body(told)]
    if rows:
        yield "\n| field | where | may be |\n|---|---|---|\n" + "".join(rows)


def _parameters(told: Mapping[str, Any]) -> Iterator[str]:
    for one in told.get("parameters", ()):
        yield f"| `{one['name']}` | {one['in']} | {_kind(one['schema'])} |\n"


def _body(told: Mapping[str, Any]) -> Iterator[str]:
    content = told.get("requestBody", {}).get("content", {}).get("application/json", {})
    schema = content.get("schema", {})
    one_of = schema.get("anyOf", schema.get("oneOf", [schema]))
    fields = {name: kind for one in one_of for name, kind in one.get("properties", {}).items()}
    for name, kind in fields.items():
        needed = all(name in one.get("required", ()) for one in one_of)
        yield f"| `{name}` | body{', needed' if needed else ''} | {_kind(kind)} |\n"


def _kind(schema: Mapping[str, Any]) -> str:
    """Example: {"type": "integer", "minimum": 1, "maximum": 500, "default": 50} -> "integer from 1 to 500, else 50" """
    options = dict.fromkeys(_kind(one) for one in schema.get("anyOf", ()) if one.get("type") != "null")
    kinds = schema.get("type", "any")
    words = " or ".join(options) or ", ".join(one for one in schema.get("enum", ()) if one)
    words = words or (kinds if isinstance(kinds, str) else " or ".join(one for one in kinds if one != "null"))
    if "minimum" in schema:
        words += f" from {schema['minimum']}" + (f" to {schema['maximum']:,}" if "maximum" in schema else " up")
    default = schema.get("default")
    return words if default in (None, "") else f"{words}, else {default}"
