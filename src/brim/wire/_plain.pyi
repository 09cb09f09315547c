from typing import Any

from brim.conversation import Message, Part, Role

def messages(
    raw: bytes, roles: dict[str, Role], part: type[Part], message: type[Message], /
) -> tuple[list[Message | bytes], list[int]] | None: ...
def of_objects(
    items: list[Any], roles: dict[str, Role], part: type[Part], message: type[Message], /
) -> tuple[tuple[Message, ...], int] | None: ...
def columns(
    messages: tuple[Message, ...], part: type[Part], message: type[Message], /
) -> tuple[list[int], list[str], list[int], list[int]]: ...
def survey(items: object, /) -> tuple[set[str], int] | None: ...
