from brim.conversation import Message, Part, Role

def messages(
    raw: bytes, roles: dict[str, Role], part: type[Part], message: type[Message], /
) -> tuple[list[Message | bytes], list[int]] | None: ...
