"""Errors in the providers' own wording, collected from their answers in 2025 and 2026."""

from __future__ import annotations

from typing import Any

_OPENAI_TYPES = {401: "invalid_request_error", 429: "requests", 500: "server_error", 503: "server_error"}
_ANTHROPIC_TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    500: "api_error",
    504: "timeout_error",
    529: "overloaded_error",
}
_GEMINI_STATUSES = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    429: "RESOURCE_EXHAUSTED",
    500: "INTERNAL",
    503: "UNAVAILABLE",
    504: "DEADLINE_EXCEEDED",
}


def error(api: str, status: int, message: str, code: str | None = None) -> dict[str, Any]:
    """An error body. Example: error("anthropic", 529, "Overloaded") -> {"type": "error", "error": {…}}"""
    if api == "anthropic":
        kind = _ANTHROPIC_TYPES.get(status, "api_error")
        return {"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_011"}
    if api == "ollama":
        return {"error": message}
    if api == "gemini":
        return {"error": {"code": status, "message": message, "status": _GEMINI_STATUSES.get(status, "UNKNOWN")}}
    kind = _OPENAI_TYPES.get(status, "invalid_request_error")
    return {"error": {"message": message, "type": kind, "param": None, "code": code}}


def overflow(api: str, tokens: int, window: int, style: str = "") -> tuple[int, dict[str, Any]]:
    """The status and body that the provider returns for a prompt that is too long."""
    if style == "llama.cpp":
        text = f"request ({tokens} tokens) exceeds the available context size ({window} tokens), try increasing it"
        inner = {"code": 400, "message": text, "type": "exceed_context_size_error"}
        return 400, {"error": {**inner, "n_prompt_tokens": tokens, "n_ctx": window}}
    if style == "vllm":
        text = (
            f"This model's maximum context length is {window} tokens. However, you requested {tokens} tokens in the "
            "messages, Please reduce the length of the messages."
        )
        return 400, {"object": "error", "message": text, "type": "BadRequestError", "param": None, "code": 400}
    if api == "anthropic":
        return 400, error(api, 400, f"prompt is too long: {tokens} tokens > {window} maximum")
    if api == "gemini":
        text = f"The input token count ({tokens}) exceeds the maximum number of tokens allowed ({window})."
        return 400, error(api, 400, text)
    if api == "ollama":
        return 400, error(api, 400, f"the input length ({tokens}) exceeds the context length ({window})")
    if api == "openai_responses":
        text = "Your input exceeds the context window of this model. Please adjust your input and try again."
        return 400, {"error": {**error(api, 400, text, "context_length_exceeded")["error"], "param": "input"}}
    text = (
        f"This model's maximum context length is {window} tokens. However, your messages resulted in {tokens} tokens. "
        "Please reduce the length of the messages."
    )
    return 400, {"error": {**error(api, 400, text, "context_length_exceeded")["error"], "param": "messages"}}
