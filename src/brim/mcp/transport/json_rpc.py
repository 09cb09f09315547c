"""MCP's JSON-RPC messages: one per line, parsed only as deep as a proxy needs."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import msgspec

Id = int | float | str
RpcObject = dict[str, Any]

# The JSON-RPC range is reserved for the protocol, so this is outside it.
SERVER_GONE = -31001
TIMED_OUT = -31002
BAD_MESSAGE = -31003
TOO_LARGE = -31004
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602

VERSION_KEY = "io.modelcontextprotocol/protocolVersion"
_ID = re.compile(rb'"id"\s*:\s*(-?\d+|"(?:[^"\\]|\\.)*")')


class RpcEnvelope(msgspec.Struct, omit_defaults=True):
    """The outer fields of a message; the rest stays raw until someone needs it."""

    jsonrpc: str = ""
    id: int | float | str | msgspec.UnsetType | None = msgspec.UNSET
    method: str | msgspec.UnsetType = msgspec.UNSET
    params: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    result: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    error: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET


_envelope = msgspec.json.Decoder(RpcEnvelope)
_batch = msgspec.json.Decoder(list[msgspec.Raw])
_any = msgspec.json.Decoder(Any)
_encoder = msgspec.json.Encoder()


class Malformed(ValueError):
    """A line that isn't a JSON-RPC message; `id` is the call it seems to answer."""

    def __init__(self, problem: str, id: Id | None = None) -> None:
        self.problem = problem
        self.id = id
        super().__init__(problem)


@dataclass(frozen=True, slots=True)
class RpcMessage:
    """One message and its line."""

    line: bytes
    id: Id | None
    method: str | None
    _params: msgspec.Raw | None
    _result: msgspec.Raw | None
    _error: msgspec.Raw | None

    @property
    def is_request(self) -> bool:
        return self.method is not None and self.id is not None

    @property
    def is_response(self) -> bool:
        return self.method is None

    @property
    def failed(self) -> bool:
        return self._error is not None

    def params(self) -> RpcObject:
        return _object(self._params)

    def result(self) -> RpcObject:
        return _object(self._result)

    def error(self) -> RpcObject:
        return _object(self._error)

    def raw_result(self) -> bytes:
        return bytes(self._result) if self._result is not None else b""


def _object(raw: msgspec.Raw | None) -> RpcObject:
    if raw is None:
        return {}
    value = _any.decode(raw)
    return value if isinstance(value, dict) else {}


def split(line: bytes) -> list[bytes]:
    """The messages in a line: one, or several in a batch (allowed by protocol 2025-03-26)."""
    if line.lstrip()[:1] != b"[":
        return [line]
    try:
        return [bytes(raw) for raw in _batch.decode(line)]
    except msgspec.DecodeError as error:
        raise Malformed(f"not JSON: {error}") from error


def decode(line: bytes) -> RpcMessage:
    """Parse a line, or raise Malformed with the id of the call it was about.

    Example: b'{"jsonrpc":"2.0","id":1,"method":"ping"}' -> Message(id=1, method="ping", …)
    """
    try:
        found = _envelope.decode(line)
    except msgspec.DecodeError as problem:
        raise Malformed(str(problem), guess_id(line)) from problem
    id = None if found.id is msgspec.UNSET else found.id
    method = None if found.method is msgspec.UNSET else found.method
    result = None if found.result is msgspec.UNSET else found.result
    error = None if found.error is msgspec.UNSET else found.error
    if method is None:
        if (result is None) == (error is None):
            raise Malformed("neither a request nor a response", id)
        if result is not None and bytes(memoryview(result)[:1]) != b"{":
            raise Malformed("the result is not an object", id)
    params = None if found.params is msgspec.UNSET else found.params
    return RpcMessage(line, id, method, params, result, error)


def guess_id(line: bytes) -> Id | None:
    """The id in the first or last bytes of a line that is too long to parse."""
    for part in (line[:400], line[-400:]):
        found = _ID.search(part)
        if found:
            value = _any.decode(found.group(1))
            return value if isinstance(value, int | str) else None
    return None


def parse(data: bytes | str) -> Any:
    """Any JSON value, or raise ValueError."""
    try:
        return _any.decode(data)
    except (msgspec.DecodeError, UnicodeEncodeError) as error:
        raise ValueError(str(error)) from error


def dump(value: Any) -> bytes:
    """The value as compact JSON; lone surrogates, which UTF-8 cannot carry, become question marks."""
    try:
        return _encoder.encode(value)
    except UnicodeEncodeError:
        return _encoder.encode(_clean(value))


def _clean(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, dict):
        return {_clean(key): _clean(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_clean(item) for item in value]
    return value


def request(id: Id, method: str, params: RpcObject) -> bytes:
    return dump({"jsonrpc": "2.0", "id": id, "method": method, "params": params})


def notification(method: str, params: RpcObject | None = None) -> bytes:
    message: RpcObject = {"jsonrpc": "2.0", "method": method}
    if params is not None:
        message["params"] = params
    return dump(message)


def response(id: Id, result: Any) -> bytes:
    return dump({"jsonrpc": "2.0", "id": id, "result": result})


def error_response(id: Id, code: int, text: str) -> bytes:
    return dump({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": text}})


def meta_of(params: RpcObject) -> RpcObject:
    """The `_meta` of a request or result, empty when there is none."""
    meta = params.get("_meta")
    return meta if isinstance(meta, dict) else {}


def is_modern(params: RpcObject) -> bool:
    """Whether a request states its protocol version itself, as the stateless versions do."""
    return VERSION_KEY in meta_of(params)
