"""Errors in each provider's own shape and wording. Clients read them: some compact on the wording alone."""

from __future__ import annotations

from typing import Any

from brim.conversation import encode

_OPENAI = {
    400: "invalid_request_error",
    401: "invalid_request_error",
    403: "invalid_request_error",
    404: "invalid_request_error",
    413: "invalid_request_error",
    429: "rate_limit_error",
}
_ANTHROPIC = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    504: "timeout_error",
    529: "overloaded_error",
}
_GEMINI = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    413: "INVALID_ARGUMENT",
    429: "RESOURCE_EXHAUSTED",
    500: "INTERNAL",
    502: "UNAVAILABLE",
    503: "UNAVAILABLE",
    504: "DEADLINE_EXCEEDED",
}


def error(api: str, status: int, message: str, code: str = "") -> bytes:
    """An error body. Example: error("gemini", 504, "…") has the status DEADLINE_EXCEEDED."""
    return encode(shape(api, status, message, code))


def shape(api: str, status: int, message: str, code: str = "") -> dict[str, Any]:
    """An error as a value. Statuses below 500 that the provider has no name for count as the client's fault."""
    fallback = 400 if 400 <= status < 500 else status
    if api == "anthropic":
        kind = _ANTHROPIC.get(status) or _ANTHROPIC.get(fallback, "api_error")
        return {"type": "error", "error": {"type": kind, "message": message}}
    if api == "ollama":
        return {"error": message}
    if api == "gemini":
        name = _GEMINI.get(status) or _GEMINI.get(fallback, "UNKNOWN")
        return {"error": {"code": status, "message": message, "status": name}}
    kind = _OPENAI.get(status) or _OPENAI.get(fallback, "server_error")
    return {"error": {"message": message, "type": kind, "param": None, "code": code or None}}


def limited(api: str, limit: str, seconds: int, code: str) -> bytes:
    """The provider's own wording for a used-up limit such as "60 requests in a minute", with the seconds to wait.

    `code` is OpenAI's: rate_limit_exceeded, or insufficient_quota for a budget.
    """
    quota = "You exceeded your current quota, please check your plan and billing details."
    if api == "anthropic":
        text = f"This request would exceed your account's rate limit of {limit}. Please try again in {seconds} seconds."
        return error(api, 429, text)
    if api == "gemini":
        made = shape(api, 429, f"{quota} Quota exceeded: limit {limit}. Please retry in {seconds}s.")
        retry = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": f"{seconds}s"}
        return encode({"error": {**made["error"], "details": [retry]}})
    if code == "insufficient_quota":
        text = f"{quota} The limit is {limit}; try again in {seconds}s."
        return encode({"error": {"message": text, "type": code, "param": None, "code": code}})
    return error(api, 429, f"Rate limit reached: Limit {limit}. Please try again in {seconds}s.", code)


def too_long(api: str, tokens: int, limit: int, window: int, reserve: int) -> bytes:
    """The provider's own wording for a prompt that is too long.

    Example: anthropic -> "prompt is too long: 210000 tokens > 200000 maximum"
    """
    if api == "anthropic":
        return error(api, 400, f"prompt is too long: {tokens} tokens > {limit} maximum")
    if api == "gemini":
        text = f"The input token count ({tokens}) exceeds the maximum number of tokens allowed ({limit})."
        return error(api, 400, text)
    if api == "ollama":
        return error(api, 400, f"the input length ({tokens} tokens) exceeds the context length ({limit} tokens)")
    if api == "openai_responses":
        text = "Your input exceeds the context window of this model. Please adjust your input and try again."
        return _context_length(text, "input")
    if reserve:
        text = (
            f"This model's maximum context length is {window} tokens. However, you requested {tokens + reserve} tokens "
            f"({tokens} in the messages, {reserve} in the completion). Please reduce the length of the messages or "
            "completion."
        )
    else:
        text = (
            f"This model's maximum context length is {limit} tokens. However, your messages resulted in {tokens} "
            "tokens. Please reduce the length of the messages."
        )
    return _context_length(text, "messages")


def _context_length(text: str, param: str) -> bytes:
    inner = {"message": text, "type": "invalid_request_error", "param": param, "code": "context_length_exceeded"}
    return encode({"error": inner})


def stream_error(api: str, status: int, message: str, code: str = "") -> bytes:
    """An error in the middle of a stream, as an event that the provider's SDKs raise on."""
    body = shape(api, status, message, code)
    if api == "anthropic":
        return b"event: error\ndata: " + encode(body) + b"\n\n"
    if api == "ollama":
        return encode(body) + b"\n"
    if api == "openai_responses":
        event = {"type": "error", "code": code or "upstream_error", "message": message, "param": None}
        return b"event: error\ndata: " + encode({**event, "sequence_number": 1 << 30}) + b"\n\n"
    return b"data: " + encode(body) + b"\n\n"
