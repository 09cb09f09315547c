"""Directory trees and file lists: each folder once, with the names in it.

Reads three formats: paths (find, git ls-files), drawn trees (tree), and listings by folder (ls -R). The dense form is
lossless; extracts keep folders with counts and add names while there is room.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from brim.content import plain_text
from brim.content.selection import fits, least, plural
from brim.content.types import Room
from brim.errors import NotDecodable
from brim.relevance import query_match

_LONGEST = 6_000_000
_HEADER = re.compile(r"#brim tree (paths|ls|drawn (\d))(?: under (\S+))?: [^\n]*\n")
_SEPARATORS = (" ", ", ", " | ", "\t")
# Names of each folder to show before more of any other. Names nearest to the root say most about a project.
_TURN = 5
_TELL = {" ": "spaces", ", ": "commas", " | ": "bars", "\t": "tabs"}
_STYLES = (
    ("│   ", "    ", "├── ", "└── "),
    ("│\u00a0\u00a0 ", "    ", "├── ", "└── "),
    ("|   ", "    ", "|-- ", "`-- "),
    ("│  ", "   ", "├─ ", "└─ "),
)
_DRAWN = re.compile(r"((?:│   |│\u00a0\u00a0 |\|   |    |│  |   )*)(├── |└── |\|-- |`-- |├─ |└─ )(.*)")

# A line of `ls -l` or `find -ls`: mode, links, owner, group, size, date and name.
_LONG = re.compile(
    r"^[ \d]*(?P<mode>[bcdlps-][rwxsStT-]{9})[.+@]? +\d+ +\S+ +\S+ +(?P<size>[\d.]+[KMGTP]?|\d+, +\d+) "
    r"+(?:\S+ +\d+ +[\d:]+|\d{4}-\d\d-\d\d \d\d:\d\d\S*(?: [+-]\d+)?) (?P<name>.+)$",
    re.M,
)


@dataclass(frozen=True, slots=True)
class ListingGroup:
    """A folder as written, and consecutive names in it."""

    folder: str
    names: list[str]


def dense(text: str) -> str | None:
    """Each folder once, with its names on one line.

    Example: "src/a.py\\nsrc/b.py\\nsrc/c/d.py"
             -> "#brim tree paths: FOLDER: names between spaces\\nsrc: a.py b.py\\nsrc/c: d.py"
    """
    if len(text) > _LONGEST or not text.strip():
        return None
    for form in (_dense_drawn, _dense_ls, _dense_paths):
        made = form(text)
        if made is not None and _size(made) < _size(text) and _decodes(made, text):
            return made
    return None


def _size(text: str) -> int:
    # A newline costs a token; a space before a name doesn't.
    return len(text) + 3 * text.count("\n")


def _decodes(made: str, text: str) -> bool:
    try:
        return decode(made) == text
    except NotDecodable:
        return False


def decode(text: str) -> str:
    """The tree or list that a dense form encodes."""
    header = _HEADER.match(text)
    if not header:
        raise NotDecodable("this text has no '#brim tree' header")
    body = text[header.end() :]
    if header[2]:
        return _draw(body, _STYLES[min(int(header[2]), len(_STYLES) - 1)])
    told = header[0].rsplit("between ", 1)[-1].split(";", 1)[0].strip()
    separator = next((sign for sign, name in _TELL.items() if name == told), " ")
    end = "" if header[0].rstrip().endswith("no newline at the end") else "\n"
    root = header[3] or ""
    if header[1] == "ls":
        return _list_again(body, separator) + end
    return _paths_again(body, separator, root) + end


def _split(path: str) -> tuple[str, str]:
    """Folder and name; a path without a folder has the folder None, written as an empty one."""
    at = path.rfind("/", 0, len(path) - 1)
    return (path[:at], path[at + 1 :]) if at > 0 else ("", path)


def _groups(paths: Sequence[str]) -> list[ListingGroup]:
    found: list[ListingGroup] = []
    for path in paths:
        folder, name = _split(path)
        if found and found[-1].folder == folder:
            found[-1].names.append(name)
        else:
            found.append(ListingGroup(folder, [name]))
    return found


def _separator(names: Sequence[str]) -> str | None:
    joined = "\n".join(names)
    return next((sign for sign in _SEPARATORS if sign not in joined), None)


def _header(kind: str, separator: str, text: str, root: str = "") -> str:
    under = f" under {root}" if root else ""
    tail = "" if text.endswith("\n") else "; no newline at the end"
    return f"#brim tree {kind}{under}: FOLDER: names between {_TELL[separator]}{tail}\n"


def _dense_paths(text: str) -> str | None:
    paths = text.removesuffix("\n").split("\n")
    root = root_of(paths)
    groups = _groups([path[len(root) :] for path in paths])
    separator = _separator([name for group in groups for name in group.names])
    if separator is None or len(paths) < 3 or any(": " in group.folder for group in groups):
        return None
    rows = [
        f"{group.folder}: {separator.join(group.names)}" if group.folder else separator.join(group.names)
        for group in groups
    ]
    return _header("paths", separator, text, root) + "\n".join(rows)


def root_of(paths: Sequence[str]) -> str:
    """The folder that contains all paths, if it is worth writing once. Example: "/home/ana/app/" """
    first, last = min(paths), max(paths)
    size = next((i for i, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), min(len(first), len(last)))
    root = first[: first.rfind("/", 0, size) + 1]
    return root if len(root) > 3 and not re.search(r"\s|:", root) else ""


def _paths_again(body: str, separator: str, root: str) -> str:
    out: list[str] = []
    for row in body.split("\n"):
        folder, colon, names = row.partition(": ")
        if not colon:
            folder, names = "", row
        inside = folder + "/" if folder else ""
        out.extend(f"{root}{inside}{name}" for name in names.split(separator))
    return "\n".join(out)


def _dense_ls(text: str) -> str | None:
    blocks = text.removesuffix("\n").split("\n\n")
    rows: list[str] = []
    every: list[str] = []
    for block in blocks:
        head, *names = block.split("\n")
        if not head.endswith(":") or head.endswith("::") or any(not name for name in names):
            return None
        rows.append("\x00".join([head, *names]))
        every += names
    separator = _separator(every)
    if separator is None or len(blocks) < 2:
        return None
    made = [row.replace("\x00", " ", 1).replace("\x00", separator) for row in rows]
    return _header("ls", separator, text) + "\n".join(made)


def _list_again(body: str, separator: str) -> str:
    out: list[str] = []
    for row in body.split("\n"):
        folder, colon, names = row.partition(": ")
        out.append(folder + ":\n" + "\n".join(names.split(separator)) if colon else row)
    return "\n\n".join(out)


def _dense_drawn(text: str) -> str | None:
    if "├" not in text and "└" not in text and "|-- " not in text and "`-- " not in text:
        return None
    rows: list[str] = []
    for line in text.split("\n"):
        drawn = _DRAWN.fullmatch(line)
        if drawn and drawn[2]:
            width = 3 if "─ " in drawn[2] and "──" not in drawn[2] else 4
            rows.append(" " * (len(drawn[1]) // width + 1) + drawn[3])
        elif line.startswith(" "):
            return None
        else:
            rows.append(line)
    body = "\n".join(rows)
    for number, style in enumerate(_STYLES):
        if _draw(body, style) == text:
            return f"#brim tree drawn {number}: each level is indented by one space\n{body}"
    return None


def _draw(body: str, style: tuple[str, str, str, str]) -> str:
    """Draw a tree from an indented one; the last branch of a level has no other below it."""
    bar, blank, branch, corner = style
    rows = body.split("\n")
    depths = [len(row) - len(row.lstrip(" ")) for row in rows]
    out = list(rows)
    following: list[bool] = []  # per level, whether another entry follows
    for index in range(len(rows) - 1, -1, -1):
        depth = depths[index]
        if depth == 0:
            following = []
            continue
        following += [False] * (depth - len(following))
        prefix = "".join(bar if more else blank for more in following[: depth - 1])
        out[index] = prefix + (branch if following[depth - 1] else corner) + rows[index][depth:]
        following[depth - 1] = True
        del following[depth:]
    return "\n".join(out)


def extract(text: str, room: Room) -> str:
    """The dense form if it fits; else folders with counts and as many names as fit.

    Example: -> "[52 files in 2 folders under app/; 51 names not shown]\nsrc: app.py +39 .py\nsrc/web: 12 .ts"
    """
    if room.tokens <= 0:
        return ""
    if fits(text, room):
        return text
    made = dense(text)
    if made is not None and fits(made, room):
        return made
    entries = as_entries(text) if len(text) <= _LONGEST else []
    if len(entries) < 3:
        return plain_text.extract(text, room)
    root = root_of([one.path for one in entries])
    by_folder: dict[str, list[ListingEntry]] = {}
    for one in entries:
        folder, name = _split(one.path[len(root) :])
        by_folder.setdefault(folder, []).append(ListingEntry(name, one.size))
    # A folder's own entry adds nothing to its line.
    folders = set(by_folder)
    for folder, names in by_folder.items():
        inside = f"{folder}/" if folder else ""
        names[:] = [one for one in names if (inside + one.path.rstrip("/")) not in folders]
    return _filled({folder: names for folder, names in by_folder.items() if names}, root, room)


@dataclass(frozen=True, slots=True)
class ListingEntry:
    """A path or name from a list, and its size if the list has it."""

    path: str
    size: str = ""


def as_entries(text: str) -> list[ListingEntry]:
    """The paths of a tree or list in any format; [] if the format is unknown."""
    if long := _long_entries(text):
        return long
    if _dense_drawn(text) is not None:
        return list(map(ListingEntry, _drawn_paths(text)))
    if _dense_ls(text) is not None:
        found: list[ListingEntry] = []
        for block in text.removesuffix("\n").split("\n\n"):
            head, *names = block.split("\n")
            found.extend(ListingEntry(f"{head[:-1]}/{name}") for name in names)
        return found
    rows = [row for row in text.split("\n") if row.strip()]
    return list(map(ListingEntry, rows)) if rows and sum("/" in row for row in rows) > 0.5 * len(rows) else []


def _long_entries(text: str) -> list[ListingEntry]:
    """The entries of `ls -l`, `ls -lR` and `find -ls`, with a slash after folders; [] unless most lines match."""
    if not _LONG.search(text, 0, 4_000):
        return []
    found: list[ListingEntry] = []
    folder, other = "", 0
    for line in text.split("\n"):
        entry = _LONG.match(line)
        if entry is None:
            if line.endswith(":"):
                folder = line[:-1].rstrip("/") + "/"
            other += bool(line) and not line.endswith(":") and not line.startswith("total ")
            continue
        name = entry["name"].split(" -> ")[0]
        if name not in (".", ".."):
            found.append(ListingEntry(folder + name + "/" * (entry["mode"][0] == "d"), entry["size"]))
    return found if len(found) > 2 * other else []


def _drawn_paths(text: str) -> list[str]:
    above: list[str] = []
    found: list[str] = []
    for line in text.split("\n"):
        drawn = _DRAWN.fullmatch(line)
        if not drawn:
            continue
        width = 3 if "─ " in drawn[2] and "──" not in drawn[2] else 4
        depth = len(drawn[1]) // width
        del above[depth:]
        above.append(drawn[3].rstrip("/"))
        found.append("/".join(above))
    return found


def _filled(by_folder: dict[str, list[ListingEntry]], root: str, room: Room) -> str:
    """Folders, merging deep ones into their parents until all fit, then names by relevance and depth."""
    total = sum(map(len, by_folder.values()))
    of = f"{plural(total, 'file')} in {plural(len(by_folder), 'folder')}{' under ' + root if root else ''}"
    sizes = sum(bool(one.size) for names in by_folder.values() for one in names)
    whole = _every_name(by_folder, 0, of, room)
    if len(whole) < room.tokens * 8 and room.fits(whole):
        fewest, most = 0, sizes
        while fewest < most:
            middle = (fewest + most + 1) // 2
            if room.fits(tried := _every_name(by_folder, middle, of, room)):
                fewest, whole = middle, tried
            else:
                most = middle - 1
        return whole
    low, high = -1, max((folder.count("/") for folder in by_folder), default=0)
    depth = high  # most trees fit as deep as they are
    while low < high:
        rows = [_row(folder, [], names) for folder, names in _joined(by_folder, depth).items()]
        if room.count("\n".join(rows)) <= room.tokens * 0.7:
            low = depth
        else:
            high = depth - 1
        depth = (low + high + 1) // 2
    return _with_names(_joined(by_folder, low), of, room) or least(room, of)


def _joined(by_folder: dict[str, list[ListingEntry]], depth: int) -> dict[str, list[str]]:
    """The names by folder, those in folders below this depth with the rest of their path; all at once below 0."""
    joined: dict[str, list[str]] = {}
    for folder, listed in by_folder.items():
        top = "/".join(folder.split("/")[: depth + 1])
        rest = folder[len(top) :].removeprefix("/")
        joined.setdefault(top, []).extend(f"{rest}/{one.path}" if rest else one.path for one in listed)
    return joined


def _every_name(by_folder: dict[str, list[ListingEntry]], sizes: int, of: str, room: Room) -> str:
    """All names by folder, a given number of them with their sizes."""
    told = "names and sizes only" if sizes else "names only"
    out = [f"[{of}] {room.mark(told)}" if room.handle else f"[{of}]"]
    for folder, listed in by_folder.items():
        names = []
        for one in listed:
            names.append(f"{one.path} {one.size}," if one.size and sizes > 0 else one.path)
            sizes -= bool(one.size)
        out.append(_row(folder, names, names))
    return "\n".join(out)


def _row(folder: str, shown: Sequence[str], names: Sequence[str]) -> str:
    """Example: "src: app.py +39 .py" """
    left = len(names) - len(shown)
    more = f"{'+' if shown else ''}{left}{_endings(names) if not shown else ''}" if left else ""
    inside = " ".join([*shown, more] if more else shown).rstrip(",")
    return f"{folder or '.'}: {inside}" if folder or not shown else inside


def _endings(names: Sequence[str]) -> str:
    """The most common extensions of the names. Example: " .py .md" """
    found = Counter(name.rsplit(".", 1)[1] for name in names if "." in name[1:] and "/" not in name.rsplit(".", 1)[1])
    most = [f".{ending}" for ending, number in found.most_common(2) if number > 0.2 * len(names) and len(ending) < 8]
    return " " + " ".join(most) if most and len(names) > 2 else ""


def _with_names(joined: dict[str, list[str]], of: str, room: Room) -> str:
    folders = list(joined)
    entries = [(folder, name) for folder in folders for name in joined[folder]]
    scores = query_match.scores([f"{folder}/{name}\n" for folder, name in entries], room.query)
    nth = [number // _TURN for folder in folders for number in range(len(joined[folder]))]
    deep = [f"{folder}/{name}".count("/") for folder, name in entries]
    ranking = sorted(range(len(entries)), key=lambda index: (-scores.get(index, 0.0), nth[index], deep[index], index))

    def shown(most: int) -> str:
        chosen: dict[str, list[str]] = {folder: [] for folder in folders}
        for index in sorted(ranking[:most]):
            folder, name = entries[index]
            chosen[folder].append(name)
        mark = room.mark(f"{plural(len(entries) - most, 'name')} not shown")
        return "\n".join([f"[{of}] {mark}", *(_row(folder, chosen[folder], joined[folder]) for folder in folders)])

    if room.count(shown(0)) > room.tokens:
        return ""
    low, high = 0, min(len(entries), room.tokens)
    while low < high:
        middle = (low + high + 1) // 2
        if room.count(shown(middle)) <= room.tokens:
            low = middle
        else:
            high = middle - 1
    return shown(low)
