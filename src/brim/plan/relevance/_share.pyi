from array import array

def share(
    hits: dict[int, float],
    totals: list[float],
    decay: array[float],
    kinds: bytearray,
    asks: int,
    answer: float,
    faintest: float,
    /,
) -> None: ...
def gather(
    found: list[tuple[list[int], float]],
    totals: array[float],
    roots: array[float],
    lengths: array[int],
    decay: array[float],
    kinds: bytearray,
    flat: float,
    slope: float,
    most: float,
    widest: float,
    asks: int,
    answer: float,
    faintest: float,
    /,
) -> None: ...
def columns(texts: list[str], steps: array[float], least: float, /) -> tuple[bytes, bytes, bytes, int, int]: ...
