from array import array

def share(
    hits: dict[int, float],
    totals: array[float],
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
def meet(totals: array[float], roots: array[float], together: float, /) -> None: ...
def raise_kinds(totals: array[float], kinds: bytearray, gains: array[float], least: float, /) -> None: ...
def scale(totals: array[float], /) -> bool: ...
def choose_best(ranks: array[float], lengths: list[int], left: float, chosen: set[int], /) -> None: ...
def columns(
    texts: list[str],
    steps: array[float],
    least: float,
    lengths: array[int],
    tokens: array[int],
    decay: array[float],
    /,
) -> tuple[int, int]: ...
