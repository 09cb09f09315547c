"""The loop that runs a model's searches: ask, run the requested searches, ask again, until it answers."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any

from brim.docsearch.search import search
from brim.docsearch.texts import FEATURES, Collection
from brim.docsearch.tools import anthropic_tool, openai_tool
from brim.errors import BadInput

log = logging.getLogger("brim")
# Rounds of searches, after which the model has to answer without tools. They stay declared, because requests whose
# messages contain calls have to declare them, but none may be called.
ROUNDS = 8


def run_tools(
    client: Any,
    *,
    messages: Sequence[Mapping[str, Any]],
    folders: Mapping[str, str | PathLike[str]] | str | PathLike[str],
    collections: Sequence[Collection] = (FEATURES,),
    rounds: int = ROUNDS,
    **request: Any,
) -> tuple[Any, list[dict[str, Any]]]:
    """Ask with the search tools until the model answers; return the last response and all messages.

    `client` is an OpenAI or Anthropic client (or anything with their `chat.completions.create` or `messages.create`);
    `folders` is one folder, or one for each tool name. Calls to other tools end the loop, so that you can run them.

    Example: run_tools(OpenAI(), model="gpt-4o", messages=messages, folders="docs/features")
    """
    openai = hasattr(client, "chat")
    if not openai and not hasattr(client, "messages"):
        raise BadInput("client", "must have chat.completions.create (OpenAI) or messages.create (Anthropic)")
    tools = {collection.tool: collection for collection in collections}
    places = dict(folders) if isinstance(folders, Mapping) else dict.fromkeys(tools, folders)
    if missing := tools.keys() - places.keys():
        raise BadInput("folders", f"has none for {', '.join(sorted(missing))}")
    listed = [(openai_tool if openai else anthropic_tool)(collection) for collection in collections]
    said = [dict(message) for message in messages]
    own = list(request.pop("tools", []))
    create = client.chat.completions.create if openai else client.messages.create
    for turn in range(rounds + 1):
        if turn == rounds:
            request["tool_choice"] = "none" if openai else {"type": "none"}
        response = create(messages=said, tools=[*own, *listed], **request)
        answer, calls = (_openai if openai else _anthropic)(_plain(response))
        said.append(answer)
        if not calls or any(name not in tools for _, name, _ in calls) or turn == rounds:
            return response, said
        results = [(call, _found(places[name], tools[name], given)) for call, name, given in calls]
        if openai:
            said += [{"role": "tool", "tool_call_id": call, "content": text} for call, text in results]
        else:
            blocks = [{"type": "tool_result", "tool_use_id": call, "content": text} for call, text in results]
            said.append({"role": "user", "content": blocks})
    raise AssertionError("the loop ends with its last round")


def _found(folder: str | PathLike[str], collection: Collection, given: Any) -> str:
    """The search results as the model reads them; an invalid call is answered with what was expected."""
    keywords = given.get("keywords") if isinstance(given, Mapping) else None
    if not isinstance(keywords, list) or not all(isinstance(word, str) for word in keywords):
        return f'{collection.tool} takes {{"keywords": ["…"]}}: an array of words'
    found = search(str(folder), keywords, collection=collection)
    log.info("searched %s for %s", collection.tool, keywords)
    return found.text


def _plain(response: Any) -> Mapping[str, Any]:
    """A response as a dict, whatever type the client returns."""
    if isinstance(response, Mapping):
        return response
    dumped = response.model_dump(exclude_none=True) if hasattr(response, "model_dump") else None
    if not isinstance(dumped, dict):
        raise BadInput("client", f"answered with {type(response).__name__}, which is neither a dict nor a response")
    return dumped


SearchCalls = list[tuple[str, str, Any]]


def _openai(response: Mapping[str, Any]) -> tuple[dict[str, Any], SearchCalls]:
    message = dict(response["choices"][0]["message"])
    calls = message.get("tool_calls") or []
    return message, [
        (call["id"], call["function"]["name"], _decoded(call["function"].get("arguments", ""))) for call in calls
    ]


def _anthropic(response: Mapping[str, Any]) -> tuple[dict[str, Any], SearchCalls]:
    blocks = list(response["content"])
    calls = [(block["id"], block["name"], block.get("input")) for block in blocks if block.get("type") == "tool_use"]
    return {"role": "assistant", "content": blocks}, calls


def _decoded(arguments: str) -> Any:
    try:
        return json.loads(arguments or "{}")
    except ValueError:
        return None
