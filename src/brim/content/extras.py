"""The optional parts that change how content is shortened, and which of them are not installed."""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec

# The kind of content, the package that its extra brings, and what is done without.
_EXTRAS = {
    "code": ("tree_sitter", "source code is outlined by its indentation"),
    "html": ("trafilatura", "the main content of web pages is found by their tags alone"),
}


@cache
def missing() -> dict[str, str]:
    """Kinds of content whose extra is not installed, each with what that changes. Example: everything -> {}

    Nothing is imported: the extras take long to load.
    """
    return {kind: told for kind, (package, told) in _EXTRAS.items() if find_spec(package) is None}


def advice() -> dict[str, str]:
    """What to tell of each missing extra, by the kind of content."""
    return {
        kind: f"the extra `{kind}` is not installed, so {told}: pip install 'brim[{kind}]'"
        for kind, told in missing().items()
    }
