"""Request bodies in the shapes that clients of each API really send, one for every block type that is documented."""

from __future__ import annotations

from typing import Any

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
WAV = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQAAAAA="
PDF = "JVBERi0xLjQKJSVFT0YK"
SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}

CHAT: dict[str, Any] = {
    "model": "gpt-4o",
    "messages": [
        {"role": "developer", "content": "Answer in one line."},
        {"role": "system", "content": [{"type": "text", "text": "Be kind.", "cache_control": {"type": "ephemeral"}}]},
        {
            "role": "user",
            "name": "ada",
            "content": [
                {"type": "text", "text": "What is on these?"},
                {"type": "image_url", "image_url": {"url": "https://example.com/cat.png", "detail": "low"}},
                {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG}"}},
                {"type": "input_audio", "input_audio": {"data": WAV, "format": "wav"}},
                {"type": "file", "file": {"filename": "a.pdf", "file_data": f"data:application/pdf;base64,{PDF}"}},
                {"type": "file", "file": {"file_id": "file-6F2ksmvXxt4VdoqmHRw6kL"}},
            ],
        },
        {
            "role": "assistant",
            "content": None,
            "reasoning_content": "two calls will do",
            "tool_calls": [
                {"id": "call_a", "type": "function", "function": {"name": "weather", "arguments": '{"city": "Oslo"}'}},
                {"id": "call_b", "type": "custom", "custom": {"name": "run", "input": "ls -la\n"}},
            ],
        },
        {"role": "tool", "tool_call_id": "call_b", "content": [{"type": "text", "text": "a.pdf"}]},
        {"role": "tool", "tool_call_id": "call_a", "content": '{"temp": -3, "unit": "C"}'},
        {
            "role": "assistant",
            "content": [{"type": "text", "text": "Minus three."}, {"type": "refusal", "refusal": "I cannot hear."}],
        },
        {"role": "assistant", "content": None, "refusal": "I can't help with that.", "audio": {"id": "audio_1"}},
        {"role": "assistant", "content": None, "function_call": {"name": "old", "arguments": "{}"}},
        {"role": "function", "name": "old", "content": "done"},
        {"role": "user", "content": "日本語 😀 \u0000 end"},
        {"role": "user", "content": [{"type": "hologram", "hologram": {"depth": [1, 2.50, 1e3, None]}}]},
    ],
    "tools": [
        {"type": "function", "function": {"name": "weather", "parameters": SCHEMA, "strict": True}},
        {"type": "custom", "custom": {"name": "run", "format": {"type": "text"}}},
    ],
    "tool_choice": "auto",
    "response_format": {"type": "json_object"},
    "max_completion_tokens": 700,
    "stream": True,
    "x_vendor": {"k": [True, False]},
}

RESPONSES: dict[str, Any] = {
    "model": "gpt-5",
    "instructions": "Answer in one line.",
    "input": [
        {"role": "developer", "content": "Be kind."},
        {
            "type": "message",
            "role": "user",
            "content": [
                {"type": "input_text", "text": "Look at this."},
                {"type": "input_image", "image_url": f"data:image/png;base64,{PNG}", "detail": "auto"},
                {"type": "input_image", "file_id": "file-abc"},
                {"type": "input_file", "filename": "a.pdf", "file_data": f"data:application/pdf;base64,{PDF}"},
                {"type": "input_audio", "input_audio": {"data": WAV, "format": "wav"}},
            ],
        },
        {
            "type": "reasoning",
            "id": "rs_1",
            "summary": [{"type": "summary_text", "text": "**Looking**"}],
            "encrypted_content": "gAAAAABmZW5jcnlwdGVk",
        },
        {"type": "function_call", "id": "fc_1", "call_id": "call_a", "name": "weather", "arguments": '{"city":"Oslo"}'},
        {"type": "custom_tool_call", "call_id": "call_b", "name": "run", "input": "ls"},
        {
            "type": "function_call_output",
            "call_id": "call_a",
            "output": [
                {"type": "input_text", "text": "-3 C"},
                {"type": "input_image", "image_url": "https://example.com/map.png"},
            ],
        },
        {"type": "custom_tool_call_output", "call_id": "call_b", "output": "a.pdf"},
        {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"type": "search", "query": "x"}},
        {"type": "file_search_call", "id": "fs_1", "queries": ["x"], "status": "completed", "results": None},
        {"type": "code_interpreter_call", "id": "ci_1", "code": "print(1)", "container_id": "c", "outputs": []},
        {"type": "image_generation_call", "id": "ig_1", "status": "completed", "result": PNG},
        {"type": "computer_call", "id": "cu_1", "call_id": "call_c", "action": {"type": "screenshot"}},
        {
            "type": "computer_call_output",
            "call_id": "call_c",
            "output": {"type": "computer_screenshot", "image_url": f"data:image/png;base64,{PNG}"},
        },
        {"type": "local_shell_call", "id": "ls_1", "call_id": "call_d", "action": {"type": "exec", "command": ["ls"]}},
        {"type": "local_shell_call_output", "id": "ls_1", "output": '{"stdout": "a.pdf"}'},
        {"type": "mcp_list_tools", "id": "mcpl_1", "server_label": "docs", "tools": []},
        {"type": "mcp_approval_request", "id": "mcpr_1", "name": "ask", "arguments": "{}", "server_label": "docs"},
        {"type": "mcp_approval_response", "approval_request_id": "mcpr_1", "approve": True},
        {"type": "mcp_call", "id": "mcp_1", "name": "ask", "arguments": "{}", "server_label": "docs", "output": "ok"},
        {
            "type": "message",
            "id": "msg_1",
            "role": "assistant",
            "status": "completed",
            "content": [
                {
                    "type": "output_text",
                    "text": "See the site.",
                    "annotations": [{"type": "url_citation", "start_index": 0, "end_index": 3, "url": "https://x.org"}],
                },
                {"type": "refusal", "refusal": "Not that."},
            ],
        },
        {"type": "item_reference", "id": "msg_0"},
        {"type": "time_travel", "to": 1999},
        {"role": "user", "content": "go on"},
    ],
    "tools": [
        {"type": "function", "name": "weather", "parameters": SCHEMA, "strict": True},
        {"type": "web_search"},
        {"type": "mcp", "server_label": "docs", "server_url": "https://example.com/mcp"},
    ],
    "reasoning": {"effort": "low"},
    "max_output_tokens": 900,
    "store": False,
}

ANTHROPIC: dict[str, Any] = {
    "model": "claude-sonnet-4-5",
    "max_tokens": 1024,
    "system": [
        {"type": "text", "text": "Answer in one line."},
        {"type": "text", "text": "Long rules.", "cache_control": {"type": "ephemeral", "ttl": "1h"}},
    ],
    "thinking": {"type": "enabled", "budget_tokens": 2000},
    "tools": [
        {"name": "weather", "input_schema": SCHEMA, "cache_control": {"type": "ephemeral"}},
        {"type": "web_search_20250305", "name": "web_search", "max_uses": 3},
    ],
    "messages": [
        {
            "role": "user",
            "content": [
                {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}},
                {"type": "image", "source": {"type": "url", "url": "https://example.com/cat.png"}},
                {
                    "type": "document",
                    "source": {"type": "base64", "media_type": "application/pdf", "data": PDF},
                    "title": "A paper",
                    "citations": {"enabled": True},
                },
                {"type": "document", "source": {"type": "file", "file_id": "file_011"}},
                {
                    "type": "search_result",
                    "source": "https://example.com",
                    "title": "Docs",
                    "content": [{"type": "text", "text": "Found."}],
                },
                {"type": "container_upload", "file_id": "file_012"},
                {"type": "text", "text": "What is on these?", "cache_control": {"type": "ephemeral"}},
            ],
        },
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "Let me see.", "signature": "EqQBCgIYAhIkc2ln"},
                {"type": "redacted_thinking", "data": "EmwKAhgBEgy3va3p"},
                {"type": "text", "text": "I will look."},
                {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "cats"}},
                {
                    "type": "web_search_tool_result",
                    "tool_use_id": "srvtoolu_1",
                    "content": [{"type": "web_search_result", "url": "https://x.org", "encrypted_content": "ZW5j"}],
                },
                {"type": "mcp_tool_use", "id": "mcptoolu_1", "name": "ask", "server_name": "docs", "input": {}},
                {
                    "type": "mcp_tool_result",
                    "tool_use_id": "mcptoolu_1",
                    "is_error": False,
                    "content": [{"type": "text", "text": "ok"}],
                },
                {"type": "tool_use", "id": "toolu_1", "name": "weather", "input": {"city": "Oslo"}},
                {"type": "tool_use", "id": "toolu_2", "name": "weather", "input": {"city": "東京", "n": 1.50}},
            ],
        },
        {
            "role": "user",
            "content": [
                {
                    "type": "tool_result",
                    "tool_use_id": "toolu_1",
                    "content": [
                        {"type": "text", "text": "-3 C"},
                        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}},
                        {"type": "text", "text": "cold", "cache_control": {"type": "ephemeral"}},
                    ],
                },
                {"type": "tool_result", "tool_use_id": "toolu_2", "is_error": True, "content": "no such city"},
                {"type": "text", "text": "and?"},
            ],
        },
        {
            "role": "assistant",
            "content": [
                {
                    "type": "text",
                    "text": "The paper says so.",
                    "citations": [{"type": "page_location", "cited_text": "so", "document_index": 0}],
                },
                {"type": "tool_use", "id": "toolu_3", "name": "weather", "input": {}},
            ],
        },
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_3"}]},
        {"role": "assistant", "content": [{"type": "from_the_future", "payload": {"a": [1, {"b": None}]}}]},
        {"role": "user", "content": "thanks 😀"},
    ],
    "metadata": {"user_id": "u1"},
}

GEMINI: dict[str, Any] = {
    "systemInstruction": {"role": "system", "parts": [{"text": "Answer in one line."}]},
    "contents": [
        {
            "role": "user",
            "parts": [
                {"text": "What is on these?"},
                {"inlineData": {"mimeType": "image/png", "data": PNG}},
                {"inline_data": {"mime_type": "audio/wav", "data": WAV}},
                {"fileData": {"mimeType": "application/pdf", "fileUri": "https://example.com/v1/files/a"}},
                {"inlineData": {"mimeType": "application/pdf", "data": PDF}},
            ],
        },
        {
            "role": "model",
            "parts": [
                {"text": "I should look.", "thought": True},
                {
                    "functionCall": {"name": "weather", "args": {"city": "Oslo"}},
                    "thoughtSignature": "CpYBAdHtim9zaWduZWQ=",
                },
                {"functionCall": {"id": "c2", "name": "weather", "args": {"city": "東京"}}},
            ],
        },
        {
            "role": "user",
            "parts": [
                {"functionResponse": {"name": "weather", "response": {"temp": -3, "tags": ["cold", None]}}},
                {
                    "functionResponse": {
                        "id": "c2",
                        "name": "weather",
                        "response": {"output": "21 C"},
                        "parts": [{"inlineData": {"mimeType": "image/png", "data": PNG}}],
                    }
                },
            ],
        },
        {
            "role": "model",
            "parts": [
                {"executableCode": {"language": "PYTHON", "code": "print(1)"}},
                {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "1\n"}},
                {"text": "One.", "thoughtSignature": "c2ln"},
                {"from_the_future": {"a": 1}},
            ],
        },
        {"parts": [{"text": "no role given"}]},
    ],
    "tools": [{"functionDeclarations": [{"name": "weather", "parameters": SCHEMA}]}, {"googleSearch": {}}],
    "toolConfig": {"functionCallingConfig": {"mode": "AUTO"}},
    "generationConfig": {"maxOutputTokens": 500, "temperature": 0.2},
    "safetySettings": [{"category": "HARM_CATEGORY_HARASSMENT", "threshold": "BLOCK_NONE"}],
}

BODIES = {"openai_chat": CHAT, "openai_responses": RESPONSES, "anthropic": ANTHROPIC, "gemini": GEMINI}
LISTS = {"openai_chat": "messages", "openai_responses": "input", "anthropic": "messages", "gemini": "contents"}
