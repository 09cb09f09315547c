"""The optional extras that improve how content is shortened, and which of them are missing."""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec

# The kind of content, the package its extra installs, and what happens without it.
_EXTRAS = {
    "code": ("tree_sitter", "source code is outlined by its indentation"),
    "html": ("trafilatura", "the main content of web pages is found by their tags alone"),
}


@cache
def missing() -> dict[str, str]:
    """Kinds of content whose extra isn't installed, each with the consequence. Example: all installed -> {}

    It imports nothing, because the extras take long to load.
    """
    return {kind: told for kind, (package, told) in _EXTRAS.items() if find_spec(package) is None}


def advice() -> dict[str, str]:
    """The advice for each missing extra, by kind of content."""
    return {
        kind: f"the extra `{kind}` is not installed, so {told}: pip install 'brim[{kind}]'"
        for kind, told in missing().items()
    }
