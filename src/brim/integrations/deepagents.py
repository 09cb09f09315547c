"""deepagents: the messages that Brim archived, as files for the agent's own tools to read, list and search.

Example: CompositeBackend(default=StateBackend(), routes={"/archive/": BrimArchive(middleware)})
"""

from __future__ import annotations

from typing import Any

from brim.conversation import Message
from brim.errors import MissingFramework, NotFound
from brim.integrations.langchain import BrimMiddleware
from brim.sessions.session import Session

try:
    from deepagents.backends.protocol import (
        BackendProtocol,
        DeleteResult,
        EditResult,
        FileInfo,
        GlobResult,
        GrepResult,
        LsResult,
        ReadResult,
        WriteResult,
    )
    from deepagents.backends.utils import compile_grep_include_glob, grep_matches_from_files, slice_read_response
    from langgraph.config import get_config
except ImportError as problem:
    raise MissingFramework("brim.integrations.deepagents", "deepagents>=0.7,<1") from problem

READ_ONLY = "the archive is read only"


class BrimArchive(BackendProtocol):
    """The thread's messages that are no longer verbatim in the prompt: /0003-tool-read_log.md and so on.

    A handle in the prompt, such as brim:3f2a9c01, is a file name too. `middleware` is the one that fits the same
    agent.
    """

    def __init__(self, middleware: BrimMiddleware) -> None:
        self._middleware = middleware

    def _sessions(self) -> list[Session]:
        thread = get_config().get("configurable", {}).get("thread_id")
        return self._middleware.fitter.sessions_of(thread)

    def _files(self) -> dict[str, dict[str, str]]:
        return {
            f"/{number:04}-{_name(message)}.md": {"content": message.text, "encoding": "utf-8"}
            for session in self._sessions()
            for number in session.view.archived(len(session.log))
            if (message := session.log[number]).text
        }

    def read(self, file_path: str, offset: int = 0, limit: int = 2_000) -> ReadResult:
        found: Any = self._files().get(file_path) or self._under_handle(file_path.rsplit("/", 1)[-1])
        if found is None:
            return ReadResult(error=f"File '{file_path}' not found")
        result: ReadResult = slice_read_response(found, offset, limit)
        return result

    def _under_handle(self, name: str) -> dict[str, str] | None:
        for session in self._sessions():
            try:
                return {"content": session.recall(name.removesuffix(".md")), "encoding": "utf-8"}
            except NotFound:
                continue
        return None

    def ls(self, path: str) -> LsResult:
        return LsResult(entries=self._infos() if path.strip("/") == "" else [])

    def glob(self, pattern: str, path: str | None = None) -> GlobResult:
        try:
            matches = compile_grep_include_glob(pattern)
        except ValueError as problem:
            return GlobResult(error=str(problem))
        return GlobResult(matches=[info for info in self._infos() if matches(info["path"].lstrip("/"))])

    def grep(
        self, pattern: str, path: str | None = None, glob: str | None = None, *, max_count: int | None = None
    ) -> GrepResult:
        found: GrepResult = grep_matches_from_files(self._files(), pattern, path or "/", glob, max_count=max_count)
        return found

    def _infos(self) -> list[FileInfo]:
        return [
            FileInfo(path=name, is_dir=False, size=len(file["content"].encode("utf-8", "surrogatepass")))
            for name, file in self._files().items()
        ]

    def write(self, file_path: str, content: str) -> WriteResult:
        return WriteResult(error=READ_ONLY)

    def edit(self, file_path: str, old_string: str, new_string: str, replace_all: bool = False) -> EditResult:
        return EditResult(error=READ_ONLY)

    def delete(self, file_path: str) -> DeleteResult:
        return DeleteResult(error=READ_ONLY)


def _name(message: Message) -> str:
    """The author of a message. Example: a call of read_log -> assistant-read_log"""
    names = [part.name for part in message.parts if part.name]
    return "-".join([message.role, *names[:1]]).replace("/", "_")
