"""simonw/llm: a fitted version of every model as brim/NAME, the command `llm brim`, and two kinds of fragments.

Example: llm -m brim/gpt-4o -c "And what is next?"
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import brim
from brim import cli, settings
from brim.errors import BrimError, MissingFramework
from brim.integrations.conversion.fitter import MessageFitter
from brim.integrations.conversion.llm_messages import LlmCodec
from brim.integrations.conversion.messages import tool
from brim.integrations.conversion.overridden import overridden, own
from brim.models import Catalog
from brim.stores.resilient import open_store

try:
    import click
    import llm
    from llm.parts import Message
except ImportError as problem:
    raise MissingFramework("brim.integrations.llm", "llm>=0.36,<1") from problem

PREFIX = "brim/"


def fitted_model(inner: Any, budget: int | None = None, **given: Any) -> Any:
    """The same model under the name brim/NAME, with the models and the policy of brim.toml."""
    name = inner.model_id
    fitters: list[MessageFitter[Message]] = []

    def fitted(prompt: Any, conversation: Any) -> Any:
        if not fitters:  # read settings when a model is used, not for every command of llm
            known = settings.load()
            catalog = Catalog()
            for model, entry in known.models.items():
                catalog.override(model, entry.given())
            try:
                fitters.append(MessageFitter(LlmCodec(), catalog.find(name), budget, **given))
            except BrimError as problem:
                raise llm.ModelError(str(problem)) from None
        own_tools = [one for one in prompt.tools if isinstance(one, llm.Tool)]  # others run on the provider's side
        tools = [tool(one.name, one.description or "", one.input_schema) for one in own_tools]
        thread = getattr(conversation, "id", None)
        try:
            messages = fitters[0].fit(prompt.messages, tools=tools, conversation=thread)
        except BrimError as problem:
            raise llm.ModelError(str(problem)) from None
        kept = ("attachments", "schema", "tools", "tool_results", "options", "hide_reasoning", "system")
        more = {key: getattr(prompt, key) for key in kept}
        return llm.Prompt(prompt.prompt, prompt.model, messages=messages, **more)

    def execute(self: Any, prompt: Any, *rest: Any, **asked: Any) -> Iterator[Any]:
        yield from own(self, "execute")(fitted(prompt, _thread(rest, asked)), *rest, **asked)

    async def aexecute(self: Any, prompt: Any, *rest: Any, **asked: Any) -> AsyncIterator[Any]:
        async for said in own(self, "execute")(fitted(prompt, _thread(rest, asked)), *rest, **asked):
            yield said

    asynchronous = isinstance(inner, (llm.AsyncModel, llm.AsyncKeyModel))
    found = overridden(inner, {"execute": aexecute if asynchronous else execute})
    found.model_id = PREFIX + name
    return found


def _thread(rest: tuple[Any, ...], asked: dict[str, Any]) -> Any:
    """The conversation of a call: the third of stream, response and conversation, or the keyword."""
    return asked.get("conversation", rest[2] if len(rest) > 2 else None)


@llm.hookimpl(trylast=True)
def register_models(register: Callable[..., None], model_aliases: Any) -> None:
    """Register each model again, after those of all other plugins."""
    for one in list(model_aliases):
        if not one.model.model_id.startswith(PREFIX):
            asynchronous = fitted_model(one.async_model) if one.async_model else None
            register(fitted_model(one.model), asynchronous, aliases=tuple(PREFIX + alias for alias in one.aliases))


@llm.hookimpl
def register_fragment_loaders(register: Callable[..., None]) -> None:
    register("brim", archived)
    register("brim-compact", compacted)


@llm.hookimpl
def register_commands(cli: Any) -> None:
    cli.add_command(_command)


@click.command("brim", context_settings={"ignore_unknown_options": True, "help_option_names": []})
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def _command(arguments: tuple[str, ...]) -> None:
    """Brim's own commands: count, compact, recall … (llm brim --help)"""
    raise SystemExit(cli.main(arguments))


def archived(handle: str) -> Any:
    """The original that Brim archived. Example: llm -f brim:3f2a9c01 "What failed?" """
    store = open_store(settings.load().store_place)
    try:
        found = store.find_blob(handle.removeprefix("brim:"))
    finally:
        store.close()
    if found is None:
        raise ValueError(f"nothing is archived under {handle!r}")
    return llm.Fragment(found.decode("utf-8", "replace"), source=f"brim:{handle}")


def compacted(given: str) -> Any:
    """A file in a given number of tokens. Example: llm -f brim-compact:2000:server.log "What failed?" """
    tokens, _, path = given.partition(":")
    if not tokens.isdigit() or not path:
        raise ValueError(f"{given!r} is not TOKENS:FILE, such as brim-compact:2000:server.log")
    text = Path(path).expanduser().read_text(encoding="utf-8", errors="replace")
    return llm.Fragment(brim.compact(text, int(tokens)).text, source=path)
