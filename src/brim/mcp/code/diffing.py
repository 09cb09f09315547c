"""The changes between two versions, by definition rather than by line."""

from __future__ import annotations

import re
from dataclasses import dataclass

from brim.errors import BadInput
from brim.mcp.code.languages import Symbol, constants, definitions, language_of
from brim.mcp.code.repository import Repository, is_test
from brim.mcp.code.uses import uses_of
from brim.mcp.transport.json_rpc import RpcObject

_NAME = re.compile(r"[\w./@{}~^-]+")
_MOST_FILES = 12


@dataclass(frozen=True, slots=True)
class _File:
    """A changed file; `before` is its path in the old version."""

    status: str
    before: str
    path: str


def semantic_diff(repository: Repository, base: str = "HEAD", target: str = "") -> RpcObject:
    """The changes from `base` to `target`, or to the working tree, in full form."""
    for revision in (base, target):
        if revision and (not _NAME.fullmatch(revision) or revision.startswith("-")):
            raise BadInput("base" if revision == base else "target", f"{revision!r} is not a revision")
    files = _changed(repository, base, target)
    changes: list[RpcObject] = []
    others: list[RpcObject] = []
    parsed = 0
    languages: dict[str, None] = {}
    for file in files:
        language = language_of(file.path)
        if not language:
            others.append(_plain_change(repository, file, base, target))
            continue
        parsed += 1
        languages[language] = None
        old = b"" if file.status == "A" else _source(repository, base, file.before)
        new = b"" if file.status == "D" else _now(repository, target, file.path)
        found = _compare(_named_things(old, language), _named_things(new, language), file.path)
        if found:
            changes += found
        elif file.status != "M" or old != new:
            others.append(_plain_change(repository, file, base, target))
    defined = [(change["path"], change["qualified_name"]) for change in changes]
    for change, uses in zip(changes, uses_of(repository, defined), strict=True):
        _judge(change, uses)
    no_grammar = [file.path for file in files if not language_of(file.path)]
    scope = _scope(repository, base, target, parsed, no_grammar, list(languages))
    return {"scope": scope, "structural_changes": changes, "non_structural_changes": others}


def _changed(repository: Repository, base: str, target: str) -> list[_File]:
    revisions = [base, target] if target else [base]
    out = repository.git("diff", "--name-status", "-z", "-M", *revisions, "--") or b""
    parts = iter(out.decode("utf-8", "surrogateescape").split("\0"))
    files: list[_File] = []
    for status in parts:
        if status[:1] in ("R", "C"):
            files.append(_File("R", next(parts), next(parts)))
        elif status:
            path = next(parts)
            files.append(_File(status[:1], path, path))
    if not target:
        listed = repository.git("ls-files", "-o", "--exclude-standard", "-z") or b""
        new = [name for name in listed.decode("utf-8", "surrogateescape").split("\0") if name]
        files += [_File("A", name, name) for name in new]
    return files


def _now(repository: Repository, target: str, path: str) -> bytes:
    return _source(repository, target, path) if target else repository.data(path)


def _source(repository: Repository, revision: str, path: str) -> bytes:
    return repository.git("show", f"{revision}:{path}", check=False) or b""


def _named_things(source: bytes, language: str) -> list[Symbol]:
    return [*definitions(source, language), *constants(source, language)]


def _compare(old: list[Symbol], new: list[Symbol], path: str) -> list[RpcObject]:
    """Match definitions by kind and name; a removed and an added one with the same body are a rename."""
    before = {(symbol.kind, symbol.qualified): symbol for symbol in old}
    after = {(symbol.kind, symbol.qualified): symbol for symbol in new}
    removed = [symbol for key, symbol in before.items() if key not in after]
    found: list[RpcObject] = []
    for key, symbol in after.items():
        was = before.get(key)
        if was is None:
            alike = [one for one in removed if one.kind != "constant" and _body(one) == _body(symbol)]
            twin = alike[0] if alike else None
            if twin is not None:
                removed.remove(twin)
                found.append({**_change(path, symbol, "renamed", 0), "old_name": twin.qualified})
            else:
                found.append(_change(path, symbol, "added", symbol.end_line - symbol.start_line + 1))
        elif was.signature.split() != symbol.signature.split():
            found.append(
                {**_change(path, symbol, "signature_changed", _lines(was, symbol)), "old_signature": was.preview}
            )
        elif was.digest != symbol.digest and not _holds_changed(symbol, new, before):
            found.append(_change(path, symbol, "body_changed", _lines(was, symbol)))
    found += [_change(path, symbol, "removed", symbol.end_line - symbol.start_line + 1) for symbol in removed]
    return found


def _body(symbol: Symbol) -> tuple[str, int, str]:
    rest = symbol.signature.replace(symbol.name, "", 1)
    return symbol.kind, symbol.end_line - symbol.start_line, " ".join(rest.split())


def _lines(was: Symbol, now: Symbol) -> int:
    return max(abs((now.end_line - now.start_line) - (was.end_line - was.start_line)), 1)


def _holds_changed(symbol: Symbol, new: list[Symbol], before: dict[tuple[str, str], Symbol]) -> bool:
    """Whether the changes inside a class already describe its change."""
    if symbol.kind not in ("class", "struct", "interface", "module"):
        return False
    inner = [one for one in new if one.qualified.startswith(symbol.qualified + ".")]
    return any((was := before.get((one.kind, one.qualified))) is None or was.digest != one.digest for one in inner)


def _change(path: str, symbol: Symbol, change: str, lines: int) -> RpcObject:
    return {
        "path": path,
        "kind": symbol.kind,
        "name": symbol.name,
        "change": change,
        "qualified_name": symbol.qualified,
        "entity_id": f"{symbol.kind}:{symbol.qualified}",
        "start_line": symbol.start_line,
        "start_col": symbol.start_col,
        "end_line": symbol.end_line,
        "end_col": symbol.end_col,
        "lines_changed": lines,
    }


def _judge(change: RpcObject, uses: dict[str, int]) -> None:
    """Add who uses the definition, which tests touch it, and how risky the change therefore is."""
    users, count = list(uses), sum(uses.values())
    breaking = change["change"] in ("removed", "signature_changed", "renamed")
    touched = change["change"] != "added"
    change["structural_severity"] = "breaking" if breaking else "moderate" if touched else "additive"
    change["behavior_change_risk"] = (
        "high" if breaking and count else "medium" if breaking or (touched and count) else "low"
    )
    change["impact"] = {
        "reference_count": count,
        "referencing_files": [path for path in users if not is_test(path)][:_MOST_FILES],
        "affected_test_files": [path for path in users if is_test(path)][:_MOST_FILES],
        "visibility": "private" if change["name"].startswith("_") else "public",
    }


def _plain_change(repository: Repository, file: _File, base: str, target: str) -> RpcObject:
    names = {"A": "added", "D": "removed", "R": "renamed", "M": "modified", "T": "modified"}
    revisions = [base, target] if target else [base]
    counted = (repository.git("diff", "--numstat", *revisions, "--", file.path, check=False) or b"").split()
    lines = sum(int(part) for part in counted[:2] if part.isdigit())
    if file.status == "A" and not counted:  # git doesn't count the lines of untracked files
        data = _now(repository, target, file.path)
        lines = data.count(b"\n") + (not data.endswith(b"\n") and bool(data))
    category = "test" if is_test(file.path) else "code" if language_of(file.path) else "other"
    return {
        "path": file.path,
        "status": names.get(file.status, "modified"),
        "category": category,
        "lines_changed": lines,
    }


def _scope(
    repository: Repository, base: str, target: str, parsed: int, no_grammar: list[str], languages: list[str]
) -> RpcObject:
    def sha(name: str) -> str:
        return (repository.git("rev-parse", "--short", name, check=False) or b"").decode().strip()

    return {
        "base_sha": sha(base),
        "target_sha": sha(target) if target else "worktree",
        "worktree_dirty": bool((repository.git("status", "--porcelain", check=False) or b"").strip()),
        "mode": "revisions" if target else "worktree_vs_base",
        "files_parsed": parsed,
        "files_no_grammar": no_grammar,
        "languages_analyzed": languages,
    }
