"""How many Python files a folder holds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path


def sizes(package: Path, files: Iterable[Path]) -> list[tuple[int, str]]:
    """Folders with the number of their modules, the fullest first; `__init__.py` is the folder itself."""
    found = Counter(str(path.parent.relative_to(package.parent)) for path in files if path.name != "__init__.py")
    return [(count, name) for name, count in found.most_common()]
