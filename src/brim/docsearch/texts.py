"""The texts around the documents in a search result."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Collection:
    """A kind of documents, and the texts that describe it to a model."""

    tool: str
    noun: str
    nouns: str
    folder: str
    description: str
    keyword_hint: str
    note: str
    title: str
    when: tuple[str, ...]
    important: tuple[str, ...]
    examples: tuple[tuple[tuple[str, ...], str], ...]

    def none(self) -> str:
        return f"No {self.noun} files found"

    def listing(self, names: Sequence[str]) -> str:
        lines = "\n".join(f"- {name}" for name in names)
        return f"Available {self.noun} files (search with keywords to read them):\n{lines}"

    def unmatched(self, keywords: Sequence[str], names: Sequence[str]) -> str:
        lines = "\n".join(f"- {name}" for name in names)
        return f"No {self.noun} file matches: {', '.join(keywords)}\n\nAvailable {self.noun} files:\n{lines}"

    def head(self, count: int, keywords: Sequence[str]) -> str:
        files = f"{self.noun} file" if count == 1 else f"{self.noun} files"
        verb = "matches" if count == 1 else "match"
        return f"{count} {files} {verb}: {', '.join(keywords)}\n\n**CRITICAL: {self.note}**\n\n"


FEATURES = Collection(
    tool="search_features",
    noun="feature",
    nouns="feature specifications",
    folder=".prompts/features",
    description=(
        "Search project feature specifications (`.prompts/features/`) for relevant context based on keywords. "
        "Returns matching feature specs that contain requirements, acceptance criteria, and implementation details."
    ),
    keyword_hint="Keywords to search for in feature files (e.g., ['chat', 'history', 'token'])",
    note=("These feature specifications apply to this task: follow their requirements and acceptance criteria."),
    title="FEATURE SPECIFICATIONS INSTRUCTIONS",
    when=(
        "At the START of each new task, search for relevant features using keywords from the user's request",
        "When working on a topic that may have an existing feature spec",
        "When you need to check acceptance criteria or implementation details for a feature",
    ),
    important=(
        "Feature specs contain requirements and acceptance criteria — always check before implementing",
        "If a relevant feature spec exists, follow its requirements",
        "If no features are found, proceed based on the user's request",
    ),
    examples=(
        (("chat", "history"), "chat history work"),
        (("token", "limit", "memory"), "token management"),
    ),
)

LEARNINGS = Collection(
    tool="search_learnings",
    noun="learning",
    nouns="learnings",
    folder=".prompts/learnings",
    description=(
        "Search the project's recorded learnings by keywords. Returns the matching notes on past mistakes, "
        "their causes and what worked."
    ),
    keyword_hint="Keywords to search for in learning files (e.g., ['build', 'timeout'])",
    note="Apply these learnings: they record mistakes made before in this project and what solved them.",
    title="LEARNINGS INSTRUCTIONS",
    when=(
        "At the START of each new task, search for relevant learnings using keywords from the user's request",
        "When something fails, before trying a fix",
        "When working on a topic that has caused trouble before",
    ),
    important=(
        "Do not repeat a mistake that a learning describes",
        "If no learnings are found, proceed based on the user's request",
    ),
    examples=(
        (("build", "timeout"), "a build that hangs"),
        (("encoding", "csv"), "reading a file from another system"),
    ),
)
