from array import array

def share(
    hits: dict[int, float],
    totals: list[float],
    roots: list[float] | None,
    decay: array[float],
    kinds: bytearray,
    asks: int,
    answer: float,
    faintest: float,
    /,
) -> None: ...
