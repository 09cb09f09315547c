"""OpenAI Chat Completions: messages, tool calls, tools and forced tools, as `prompt_tokens` counts them.

    chat_tokens({"messages": [{"role": "user", "content": "hello"}]}, count).tokens -> 8

Known from counts that the API reported: three tokens around a message and three to open the reply; a name costs
one more than its text; tools are TypeScript in a system message (see typescript.py), which shares the frame of the
request's own first system message; a call costs its name and arguments and its result the name again; parallel calls
are wrapped in a call of their own. What rests on less (structured outputs, `required`, the newer message format of
reasoning models) goes into `slack`.
"""

from __future__ import annotations

from typing import Any, Final

from brim.apis.framed import Framed
from brim.apis.image_size import Size, base64_image_size
from brim.apis.json_values import Json, as_list, as_text, json_text, objects
from brim.apis.media_tokens import openai_image_tokens
from brim.apis.opaque_tokens import MediaRules, file_tokens, opaque_tokens
from brim.apis.openai_chat.typescript import render_functions, unshown
from brim.count_text import CountText

BASE: Final = 3  # opens the reply
_MESSAGE: Final = 3
_NAME: Final = 1
_RESULT: Final = 3  # a tool's message: its frame without the name, which is charged to the call
_CALL: Final = 3
_PARALLEL: Final = 18
_PARALLEL_CALL: Final = 10
_TOOLS: Final = 9
_SHARED_SYSTEM_FRAME: Final = -4
_FORCED: Final = {"functions": 4, "tools": 7}
_NO_CALL: Final = 1

# Allowances for renderings that no published count confirms.
_SLACK_CALL: Final = 10  # the newer format names the channel and the recipient of a call
_SLACK_REQUIRED: Final = 8
_SLACK_FORMAT: Final = 24
_SLACK_OTHER_TOOL: Final = 16

_PDF_PAGE: Final = 3_000  # a page of dense text; its image is charged on top by the model's rule
_AUDIO_SECOND: Final = 10


def chat_tokens(body: Json, count: CountText, era: str = "auto", model: str = "gpt-4o") -> Framed:
    """The parts of a whole Chat Completions request.

    Example: {"messages": [{"role": "user", "content": "hello"}]} -> tokens 8
    """
    messages = objects(body.get("messages"))
    tools, functions = body.get("tools"), body.get("functions")
    choice = body.get("tool_choice", body.get("function_call"))
    era = era_of(body) if era == "auto" else era
    system = first_system_text(messages)
    tools_size = tools_tokens(tools, choice, functions, count, era, system)
    format_size = format_tokens(body.get("response_format"), count)
    slack = tools_slack(tools, choice, functions, count, era) + (_SLACK_FORMAT if format_size else 0)
    return Framed(
        base=BASE,
        messages=tuple(message_tokens(message, count, era, model) for message in messages),
        tools=tools_size + format_size,
        slack=slack + sum(message_slack(message, count) for message in messages),
    )


def era_of(body: Json) -> str:
    """Which rendering a request gets; the parameter that it uses decides.

    Example: {"functions": []} -> "functions"; {"tools": []} -> "tools"
    """
    return "functions" if body.get("functions") else "tools"


def first_system_text(messages: list[Json]) -> str | None:
    """The text of the first system message, after which the tools are placed; None if there isn't one.

    Example: [{"role": "system", "content": "Be brief."}] -> "Be brief."
    """
    for message in messages:
        if message.get("role") in ("system", "developer"):
            content = message.get("content")
            if isinstance(content, str):
                return content
            texts = [part["text"] for part in objects(content) if _is_text(part)]
            return texts[-1] if texts else ""
    return None


def message_tokens(message: Json, count: CountText, era: str = "tools", model: str = "gpt-4o") -> int:
    """Tokens of one message, independent of the others.

    Example: {"role": "user", "content": "hello"} -> 5
    """
    role = message.get("role")
    content = content_tokens(message.get("content"), count, model)
    if role == "tool":
        return _RESULT + content
    total = _MESSAGE + count(role if isinstance(role, str) else json_text(role)) + content
    name = message.get("name")
    if isinstance(name, str) and name:
        total += count(name) + _NAME - (2 if role == "function" else 0)
    call = message.get("function_call")
    if isinstance(call, dict):
        total += _CALL + count(as_text(call.get("name"))) + count(as_text(call.get("arguments")))
    total += _calls_tokens(objects(message.get("tool_calls")), count)
    for key in ("refusal", "reasoning_content"):
        if isinstance(message.get(key), str):
            total += count(message[key])
    return total


def message_slack(message: Json, count: CountText) -> int:
    """What a message may cost beyond `message_tokens`: the format of calls differs between models.

    Example: {"role": "user", "content": "hello"} -> 0
    """
    calls = objects(message.get("tool_calls"))
    if len(calls) < 2:
        return _SLACK_CALL * len(calls)
    return sum(_SLACK_CALL + count(_call_text(call)[0]) for call in calls)


def content_tokens(content: Any, count: CountText, model: str) -> int:
    """Tokens of a message's content: text, or a list of parts.

    Example: "hello" -> 1; None -> 0; [{"type": "text", "text": "hello"}] -> 1
    """
    if content is None:
        return 0
    if isinstance(content, str):
        return count(content)
    if isinstance(content, list):
        return sum(part_tokens(part, count, model) for part in content)
    return opaque_tokens(content, count, media_rules(model))


def part_tokens(part: Any, count: CountText, model: str) -> int:
    """Tokens of one part of a content list, in the Chat Completions or the Responses spelling.

    Example: {"type": "text", "text": "hello"} -> 1
    """
    if isinstance(part, str):
        return count(part)
    if not isinstance(part, dict):
        return count(json_text(part))
    kind = part.get("type")
    if _is_text(part):
        return count(part["text"])
    if kind == "refusal" and isinstance(part.get("refusal"), str):
        return count(part["refusal"])
    if kind in ("image_url", "input_image", "computer_screenshot"):
        return _image_tokens(part, model)
    rules = media_rules(model)
    if kind == "input_audio" and isinstance(part.get("input_audio"), dict):
        audio = part["input_audio"]
        return file_tokens(as_text(audio.get("data")), f"audio/{audio.get('format')}", count, rules)
    if kind in ("file", "input_file"):
        return _document_tokens(part.get("file") if isinstance(part.get("file"), dict) else part, count, rules)
    return opaque_tokens(part, count, rules)


def tools_tokens(
    tools: Any, tool_choice: Any, functions: Any, count: CountText, era: str = "tools", system: str | None = None
) -> int:
    """Tokens of the tools and of a forced choice; `system` is the text before them, if any.

    Example: ([{"type": "function", "function": {"name": "foo"}}], None, None, count) -> 23
    """
    known, others = _definitions(tools, functions)
    total = sum(count(json_text(tool)) for tool in others)
    if known:
        total += _TOOLS + count(render_functions(known, era))
        if system is not None:
            total += _SHARED_SYSTEM_FRAME + count(system + "\n") - count(system)
    if tool_choice == "none":
        total += _NO_CALL
    elif isinstance(tool_choice, dict):
        total += _FORCED[era] + count(_forced_name(tool_choice))
    return total


def tools_slack(tools: Any, tool_choice: Any, functions: Any, count: CountText, era: str = "tools") -> int:
    """What the tools may cost beyond `tools_tokens`: the other rendering, and keywords that it may not show.

    Example: ([], None, None, count) -> 0
    """
    known, others = _definitions(tools, functions)
    slack = _SLACK_OTHER_TOOL * len(others) + (_SLACK_REQUIRED if tool_choice == "required" else 0)
    if isinstance(tool_choice, dict):
        slack += max(_FORCED.values()) - _FORCED[era]
        if not _forced_name(tool_choice):
            slack += count(json_text(tool_choice))
    if known:
        here, there = (count(render_functions(known, each)) for each in (era, _other(era)))
        slack += max(0, there - here)
        slack += sum(count(json_text(extra)) for one in known for extra in unshown(one.get("parameters")))
    return slack


def format_tokens(response_format: Any, count: CountText) -> int:
    """Tokens of a structured-output schema, which is shown to the model; other formats cost nothing.

    Example: {"type": "json_object"} -> 0
    """
    if not isinstance(response_format, dict):
        return 0
    schema = response_format.get("json_schema", response_format.get("schema"))
    return count(json_text(schema)) if schema is not None else 0


def media_rules(model: str) -> MediaRules:
    """What OpenAI charges for files sent to `model`."""

    def image(size: Size | None) -> int:
        width, height = size or (None, None)
        return openai_image_tokens(width, height, None, model)

    return MediaRules(
        image=image,
        page=_PDF_PAGE + openai_image_tokens(768, 1024, "high", model),
        audio_second=_AUDIO_SECOND,
        video_second=openai_image_tokens(None, None, "low", model),
    )


def _calls_tokens(calls: list[Json], count: CountText) -> int:
    texts = [_call_text(call) for call in calls]
    arguments = sum(count(text) for _, text in texts)
    if len(texts) == 1:
        # The name appears here and again at the result.
        return _CALL + 2 * count(texts[0][0]) + arguments
    if not texts:
        return 0
    return _PARALLEL + _PARALLEL_CALL * len(texts) + sum(count(name) for name, _ in texts) + arguments


def _call_text(call: Json) -> tuple[str, str]:
    """The name and the arguments of a call to a function or a custom tool."""
    inner = call.get("function", call.get("custom"))
    if not isinstance(inner, dict):
        return "", json_text(call)
    return as_text(inner.get("name")), as_text(inner.get("arguments", inner.get("input")))


def _definitions(tools: Any, functions: Any) -> tuple[list[Json], list[Any]]:
    """The function definitions, and the tools of other kinds."""
    known = objects(functions)
    others: list[Any] = []
    for tool in as_list(tools):
        if isinstance(tool, dict) and tool.get("type", "function") == "function":
            inner = tool.get("function", tool)
            known.append(inner if isinstance(inner, dict) else tool)
        else:
            others.append(tool)
    return known, others


def _forced_name(choice: Json) -> str:
    inner = choice.get("function", choice.get("custom", choice))
    name = inner.get("name") if isinstance(inner, dict) else None
    return name if isinstance(name, str) else ""


def _image_tokens(part: Json, model: str) -> int:
    image = part.get("image_url")
    url = image.get("url") if isinstance(image, dict) else image
    detail = (image if isinstance(image, dict) else part).get("detail")
    size = base64_image_size(url) if isinstance(url, str) and url.startswith("data:") else None
    width, height = size or (None, None)
    return openai_image_tokens(width, height, detail if isinstance(detail, str) else None, model)


def _document_tokens(file: Any, count: CountText, rules: MediaRules) -> int:
    """Tokens of a file: by its bytes if they are there; a file that is only named could be as large as a long PDF."""
    if not isinstance(file, dict):
        return count(json_text(file))
    name = count(as_text(file.get("filename")))
    data = file.get("file_data")
    if isinstance(data, str) and data:
        return name + file_tokens(data, None, count, rules)
    return name + rules.page


def _is_text(part: Json) -> bool:
    return isinstance(part.get("text"), str) and part.get("type") in (
        "text", "input_text", "output_text", "summary_text", "reasoning_text",
    )  # fmt: skip


def _other(era: str) -> str:
    return "tools" if era == "functions" else "functions"
