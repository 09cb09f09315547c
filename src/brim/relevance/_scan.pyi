from collections.abc import Callable

def scan(
    texts: tuple[str, ...],
    starts: tuple[str, ...],
    marked: dict[str, int],
    asks: int,
    ending: int,
    given: Callable[[str], tuple[list[int], ...]],
    /,
) -> tuple[bytearray, list[int]]: ...
