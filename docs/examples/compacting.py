import json

import brim

rows = [
    {
        "id": 7000 + n,
        "state": "open",
        "url": f"https://harbor.example/berths/{7000 + n}",
    }
    for n in range(60)
]
text = json.dumps(rows)

# Without a budget nothing is lost, and decode gives the value back.
dense = brim.compact(text)
print(
    dense.kind,
    dense.fidelity,
    f"{dense.kept:.0%} of the tokens",
    brim.decode(dense.text) == rows,
)
print(dense.text[:140])

# With a budget what is left out is marked, and the original is in the archive.
archive: dict[str, str] = {}
log = "\n".join(
    f"2026-03-09 06:{n % 60:02d}:00 INFO tide gauge {n} ok" for n in range(500)
)
log += "\n2026-03-09 15:00:00 ERROR gauge 17 lost its signal"
short = brim.compact(log, budget=120, archive=archive, query="lost signal")
print(
    short.kind,
    short.fidelity,
    short.tokens <= 120,
    "lost its signal" in short.text,
    archive[short.handle] == log,
)
