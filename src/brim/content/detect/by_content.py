"""Detects the kind of a text from samples of its head, middle and tail.

Each kind has one test; the most reliable tests run first. A test looks at the shape of sampled lines, never at
all of a large text, so that detection takes a fraction of a millisecond.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from brim.content.detect import command_patterns, line_patterns, structure
from brim.content.detect.phrases import repeats_phrases
from brim.content.detect.report_shape import is_report
from brim.content.detect.test_shape import is_test_run

_HEAD, _MIDDLE, _TAIL = 4_000, 2_000, 2_000
_MOST_LINES = 48
_WIDEST = 240
_ANSI = re.compile(r"\x1b\[[0-9;?]{0,20}[A-Za-z]")


@dataclass(frozen=True)
class Sample:
    """The head, middle and tail of a text, cut at line ends."""

    text: str

    @cached_property
    def body(self) -> str:
        return _ANSI.sub("", self._parts) if "\x1b[" in self._parts else self._parts

    @cached_property
    def _parts(self) -> str:
        text = self.text
        if len(text) <= _HEAD + _MIDDLE + _TAIL:
            return text
        head = text[: text.rfind("\n", _HEAD // 2, _HEAD) + 1 or _HEAD]
        centre = len(text) // 2
        middle = text[_after_newline(text, centre) : centre + _MIDDLE]
        tail = text[_after_newline(text, len(text) - _TAIL) :]
        middle = middle[: middle.rfind("\n") + 1] or middle
        return f"{head}\n{middle}\n{tail}"

    @cached_property
    def start(self) -> str:
        return _ANSI.sub("", self.text[:4_000]).lstrip("\ufeff \t\r\n")

    @cached_property
    def end(self) -> str:
        return self.text[-2_000:].rstrip()

    @cached_property
    def lines(self) -> list[str]:
        """At most 48 of the sampled lines, cut to 240 characters and not blank."""
        found = [line for line in self.body.split("\n") if line and not line.isspace()]
        if len(found) > _MOST_LINES:
            part = _MOST_LINES // 4
            centre = len(found) // 2
            found = found[: 2 * part] + found[centre : centre + part] + found[-part:]
        return [_cut(line) for line in found]

    @cached_property
    def reported(self) -> bool:
        return is_report(self.lines)

    @cached_property
    def fenced(self) -> bool:
        return "\n```" in self.body or self.start.startswith("```")

    def number(self, pattern: re.Pattern[str]) -> int:
        """How many of the sampled lines match at their start."""
        match = pattern.match
        return sum(1 for line in self.lines if match(line))

    def share(self, pattern: re.Pattern[str]) -> float:
        return self.number(pattern) / len(self.lines) if self.lines else 0.0


def _cut(line: str) -> str:
    """The start of a line; if that is only indentation, the start of its text."""
    start = line[:_WIDEST]
    return start if not start.isspace() else line.lstrip()[:_WIDEST]


def _after_newline(text: str, at: int) -> int:
    found = text.find("\n", at, at + 2_000)
    return found + 1 if found >= 0 else at


def is_json(sample: Sample) -> bool:
    start, end = sample.start, sample.end
    if start[:1] == "{":
        inside = start[1:].lstrip()[:1]
        return (inside == '"' and _has_key(start)) or (inside == "}" and end == "{}")
    if start[:1] != "[":
        return False
    inside = start[1:].lstrip()
    if inside[:1] == "]":
        return end == "[]"
    if inside[:1] in '{["':
        return end[-1:] == "]" or (inside[:1] == "{" and _has_key(inside))
    return end[-1:] == "]" and bool(re.match(r"(?:-?\d[\d.eE+-]*|true|false|null)\s*[,\]]", inside))


def _has_key(start: str) -> bool:
    return bool(re.match(r'\{\s*"(?:[^"\\\n]|\\.){0,500}"\s*:', start))


def is_jsonl(sample: Sample) -> bool:
    text = sample.text
    if sample.start[:1] not in ("{", "["):
        return False
    at = len(text) - len(text.lstrip("\ufeff \t\r\n")) if text[:1].isspace() else 0
    whole = 0
    for _ in range(8):
        end = text.find("\n", at)
        line = text[at : end if end >= 0 else len(text)]
        if line.strip() and not _is_value_line(line):
            return False
        whole += bool(line.strip())
        if end < 0:
            break
        at = end + 1
    return whole >= 2


def _is_value_line(line: str) -> bool:
    line = line.strip()
    return (line[:1] == "{" and line[-1:] == "}" and (_has_key(line) or line == "{}")) or (
        line[:2] in ('["', "[{", "[[") and line[-1:] == "]"
    )


def is_binary(sample: Sample) -> bool:
    body = sample.body
    if line_patterns.DATA_URL.match(body):
        return True
    odd = sum(map(body.count, line_patterns.ODD))
    if odd > 4 and odd > len(body) * 0.02:
        return True
    if len(body) < 100:
        return False
    if body.count(" ") * 50 < len(body) and " " not in body[:60]:
        if sum(map(len, line_patterns.BASE64.findall(body))) > 0.8 * len(body) and _mixed(body):
            return True
        if sum(map(len, line_patterns.HEX_RUN.findall(body))) > 0.8 * len(body):
            return True
    if len(sample.lines) > 1 and sample.share(line_patterns.HEX_LINE) > 0.7:
        return True
    if len(body) > 1_500 and body.isascii() and body.count("\n") < 3 and body.replace("\n", "").isalnum():
        return True  # one long word
    return len(body) > 1_500 * (1 + body.count("\n")) and _is_bundle(body)


def _mixed(body: str) -> bool:
    """Whether upper case, lower case and digits are as mixed as in base64, unlike in one long word."""
    part = body[:2_000]
    upper = sum(map(str.isupper, part))
    return upper > len(part) * 0.15 and any(map(str.isdigit, part))


def _is_bundle(body: str) -> bool:
    if sum(map(body.count, line_patterns.BUNDLE)) < 0.12 * len(body) or body.count(" ") > 0.1 * len(body):
        return False
    part = body[:3_000]
    return len(line_patterns.SCRIPT.findall(part)) > len(part) / 400


def is_diff(sample: Sample) -> bool:
    start = sample.start
    if start.startswith(("diff --git ", "Index: ", "*** Begin Patch", "@@ -")) or line_patterns.DIFF_FILE.match(start):
        return True
    if sample.fenced:
        return False
    hunks = "\n@@ -" in sample.body and line_patterns.HUNK.search(sample.body)
    changed = sum(1 for line in sample.lines if line[0] in "+-@ " or line.startswith(("diff ", "index ")))
    return bool(hunks) and changed > 0.6 * len(sample.lines)


def is_html(sample: Sample) -> bool:
    if line_patterns.HTML_START.match(sample.start):
        return True
    if sample.body.count("<") < 4:
        return False
    if sample.fenced and sample.start[:1] != "<":
        return False
    tags = len(line_patterns.HTML_TAG.findall(sample.body))
    starts = sample.start[:1] == "<" and bool(line_patterns.HTML_TAG.match(sample.start))
    if not starts and sample.reported:
        return False  # a linter quotes the page
    return tags >= (4 if starts else 12) and tags > len(sample.body) / (1_000 if starts else 250)


def is_xml(sample: Sample) -> bool:
    found = line_patterns.XML_START.match(sample.start)
    if not found:
        return False
    if found.group().startswith(("<?xml", "<!DOCTYPE")):
        return True
    name = found.group(1)
    if sample.end.endswith(f"</{name}>") or found.group().endswith("/>"):
        return True
    return len(line_patterns.TAG.findall(sample.body)) >= max(4, len(sample.lines) // 2) and sample.end.endswith(">")


def is_snapshot(sample: Sample) -> bool:
    signs = sample.number(line_patterns.SNAPSHOT_SIGN)
    return signs >= 3 and signs >= 0.3 * len(sample.lines) and sample.share(line_patterns.SNAPSHOT_LINE) > 0.5


def is_test(sample: Sample) -> bool:
    signs = sample.number(line_patterns.TEST_SIGN)
    if signs and sample.number(line_patterns.STRONG_TEST):
        return sample.share(line_patterns.LOG_LINE) < 0.8 or signs > 3
    if signs >= 2 and signs >= 0.25 * len(sample.lines):
        return True
    return len(sample.lines) > 4 and is_test_run(sample.lines) and sample.share(line_patterns.LOG_LINE) < 0.6


def is_trace(sample: Sample) -> bool:
    framed = sample.share(line_patterns.TRACE_LINE)
    if framed == 0:
        return False
    if not line_patterns.TRACE_HEAD.search(sample.body):
        return framed > 0.6 and len(sample.lines) > 2
    return framed >= 0.3 or bool(
        line_patterns.TRACE_HEAD.match(sample.start) and sample.share(line_patterns.LOG_LINE) < 0.3
    )


def is_log(sample: Sample) -> bool:
    lines = sample.lines
    if len(lines) < 2 or sum(1 for line in lines if line.lstrip()[:1] in "|│┃") > 0.7 * len(lines):
        return False
    # Records of many lines begin with a stamp and go on with whatever was logged.
    if sample.number(line_patterns.STAMPED) >= max(5, 0.2 * len(lines)):
        return True
    if sample.share(line_patterns.LOG_LINE) >= 0.5:
        return not structure.has_bars_of_keys(lines) and not structure.cycles_keys(lines)
    if structure.has_stamps(lines) or (len(lines) > 2 and sample.share(command_patterns.UPTIME) >= 0.6):
        return True
    calls, exchanged = sample.share(command_patterns.CALL), sample.share(command_patterns.PROTOCOL)
    return len(lines) > 2 and (calls >= 0.6 or exchanged >= 0.9)


def is_tree(sample: Sample) -> bool:
    lines = sample.lines
    if len(lines) < 3:
        return False
    drawn = sample.number(line_patterns.TREE_LINE)
    if drawn >= 0.6 * len(lines):
        return True
    if sample.share(line_patterns.LS_LINE) > 0.6:
        return True
    paths = sample.share(line_patterns.PATH_LINE)
    if paths > 0.85:
        return True
    if sample.share(command_patterns.STATUS_PATH) > 0.85:
        return True
    if sample.share(command_patterns.ASSIGNED) > 0.5:
        return False
    named = sum(1 for line in lines if "." in line) >= 0.3 * len(lines) or paths > 0.1
    if named and len(lines) >= 5 and paths + sample.share(line_patterns.FILE_LINE) > 0.95:
        return True
    return structure.is_listed(lines)


def is_csv(sample: Sample) -> bool:
    lines = sample.lines[:80]
    if len(lines) < 3 or structure.shares_prefix(lines):
        return False
    for delimiter in ("\t", ",", ";", "|"):
        counts = Counter(_cells(line, delimiter) for line in lines)
        cells, same = counts.most_common(1)[0]
        if cells < 1 or same < 0.85 * len(lines):
            continue
        if delimiter == "|" and lines[0].lstrip().startswith("|"):
            continue
        if (
            delimiter != "\t"
            and _prose_like(sample)
            and (cells < 3 or sample.number(line_patterns.ENDS_SAID) > 0.3 * len(lines))
        ):
            continue
        if delimiter == "," and any(line.rstrip().endswith((";", "{", ",")) for line in lines[:5]) and cells < 4:
            continue
        return True
    return False


def _cells(line: str, delimiter: str) -> int:
    if '"' in line:
        line = re.sub(r'"[^"]*"', "", line)
    return line.count(delimiter)


def _prose_like(sample: Sample) -> bool:
    lines = sample.lines[:80]
    words = sum(len(line_patterns.WORDS.findall(line[:400])) for line in lines)
    commas = sum(1 for line in lines if ", " in line)
    return words > 6 * len(lines) or commas > 0.6 * len(lines)


def is_code(sample: Sample) -> bool:
    lines = sample.lines
    if len(lines) < 2:
        return bool(lines) and bool(line_patterns.CODE_FIRM.match(lines[0])) and lines[0].rstrip()[-1:] in ";{})"
    # Fenced code and lists with colons belong to a person's text about code.
    if sample.fenced or sum(1 for line in lines if line.lstrip().startswith("- ")) > 0.3 * len(lines):
        return False
    coded = ended = signed = commented = spaces = 0
    others: list[str] = []
    for line in lines:
        bare = line.strip()
        closes = bare[-1] in ";{}()[],:\\"
        ended += closes
        comment = bare.startswith(("//", "/*", "*/", "* ", "# ", "#!")) or bare == "*"
        commented += comment and bare[0] != "#" and not bare.startswith("* ")
        noted = " // " in bare and "://" not in bare
        signed += noted or not line_patterns.SIGNS.isdisjoint(bare)
        spaces += bare.count(" ")
        if closes or comment or noted:
            coded += 1
        else:
            others.append(line)
    if signed + commented < 0.2 * len(lines) and ended < 0.2 * len(lines):
        return False
    coded += sum(1 for line in others if line_patterns.CODE_LINE.match(line))
    number = len(lines)
    firm = sample.number(line_patterns.CODE_FIRM)
    if firm and coded > 0.6 * number and (firm >= 0.05 * number or ended > 0.3 * number):
        return True
    if coded > 0.8 * number and ended > 0.3 * number and (signed > 0.6 * number or spaces < number):
        return True
    if coded > 0.6 * number and ended > 0.5 * number and signed > 0.5 * number and ";" in sample.body:
        return True
    return commented > 0.5 * number or (
        commented > 0 and lines[0].lstrip().startswith(("/*", "//")) and coded > 0.7 * number
    )


def is_settings(sample: Sample) -> bool:
    """YAML, TOML, INI and lock files, which are outlined by indentation like code."""
    if len(sample.lines) < 4 or structure.repeats_heads(sample.lines):
        return False
    if structure.is_of_blocks(sample.lines):
        return True
    keyed = sum(1 for line in sample.lines if re.match(r"\s*(?:- )?[\w./\"'-]+:(?:\s|$)", line))
    if sample.share(line_patterns.YAML_LINE) > 0.85 and keyed > 0.5 * len(sample.lines) and not _prose_like(sample):
        return True
    return (
        sample.share(line_patterns.INI_LINE) > 0.85
        and any("=" in line for line in sample.lines)
        and not _prose_like(sample)
    )


def is_markdown(sample: Sample) -> bool:
    lines = sample.lines
    firm = sample.number(line_patterns.MARKDOWN_FIRM)
    lists = sample.number(line_patterns.LIST_ITEM)
    linked = sum(1 for line in lines if "](" in line)
    if not firm and not linked:
        return len(lines) > 2 and lists > 0.5 * len(lines)
    headings = sample.number(line_patterns.HEADING)
    # Headings aren't on consecutive lines, but comments in a configuration are.
    if _hashed(lines) >= 2:
        return False
    fences = sample.body.count("```")
    if headings >= 2 or (headings and (fences >= 2 or lists or sample.start.startswith("#"))):
        return True
    score = firm + linked + 0.5 * lists + 0.5 * sum(1 for line in lines if "**" in line or "`" in line)
    return score >= max(3, 0.12 * len(lines)) or (fences >= 2 and score >= 2)


def _hashed(lines: Sequence[str]) -> int:
    """How many lines that begin with a single # follow another such line."""
    return sum(1 for one, two in pairwise(lines) if one.startswith(("# ", "#\t")) and two.startswith("# "))


def is_markdown_table(sample: Sample) -> bool:
    barred = sum(1 for line in sample.lines if line.startswith("|"))
    return barred >= 0.9 * len(sample.lines) > 2 and sample.number(line_patterns.MARKDOWN_RULE) > 0


def is_wordy_log(sample: Sample) -> bool:
    """A log by the words of its lines, whatever their prefix; code and settings repeat themselves too."""
    if not repeats_phrases(sample.lines) or structure.has_padded_columns(sample.lines):
        return False
    coded = sample.share(line_patterns.CODE_FIRM) >= 0.1 or sample.share(command_patterns.SET) >= 0.3
    return not coded and sample.share(line_patterns.LIST_ITEM) < 0.1


def is_prose(sample: Sample) -> bool:
    body = "\n".join(sample.lines[:24])
    wide = sum(1 for c in body[:500] if c >= "\u2e80")
    if wide > 0.3 * min(500, len(body)):
        return bool(line_patterns.SENTENCE.search(body))
    lines = sample.lines
    # Sentences begin at the margin; reports of programs indent most of their lines.
    if sum(1 for line in lines if line[0].isspace()) > 0.5 * len(lines) and len(lines) > 5:
        return False
    words = line_patterns.WORDS.findall(body)
    # Half of the text is in long lines or sentences; the text that programs print between lists is less.
    said = sum(len(line) for line in lines if len(line) > 60 or line_patterns.ENDS_SAID.match(line))
    if len(lines) > 5 and 2 * said < sum(map(len, lines)):
        return False
    if len(words) < max(4, 3 * min(24, len(sample.lines))) or not line_patterns.SENTENCE.search(body):
        return False
    return sum(map(len, words)) > 0.6 * (len(body) - body.count(" ") - body.count("\n"))


def is_history(sample: Sample) -> bool:
    """A sequence of commits, each with its hash at the start of a line or on its own line."""
    if command_patterns.COMMIT.match(sample.start):
        return True
    lines = [line for line in sample.lines if not command_patterns.GRAPH.match(line)]
    subjects = sum(1 for line in lines if command_patterns.SUBJECT.match(line))
    if len(lines) < 3 or subjects < 0.8 * len(lines) or sample.number(command_patterns.BLAME):
        return False
    return not repeats_phrases(lines)  # a number at the start of log lines may look like a hash


def is_blame(sample: Sample) -> bool:
    return len(sample.lines) > 2 and sample.share(command_patterns.BLAME) >= 0.8


def is_matches(sample: Sample) -> bool:
    """Search results: a path and a line number before each line, or numbered lines below paths."""
    lines = [line for line in sample.lines if line != "--"]
    if len(lines) < 3:
        return False
    found = [line for line in lines if command_patterns.MATCH.match(line) and not line_patterns.LOG_LINE.match(line)]
    if len(found) >= 0.6 * len(lines):
        return True
    if sum(1 for line in lines if command_patterns.MATCH_COUNT.match(line)) >= 0.9 * len(lines):
        return True
    below = [int(match.group(1)) for line in lines if (match := command_patterns.MATCH_BELOW.match(line))]
    paths = sum(1 for line in lines if command_patterns.PATH_ALONE.match(line))
    rising = sum(1 for one, two in pairwise(below) if one < two)
    return len(below) >= 2 and len(below) + paths >= 0.9 * len(lines) and rising >= 0.6 * (len(below) - 1)


def is_build(sample: Sample) -> bool:
    """Diagnostics with places, or the steps of a build tool or an installer."""
    told = sample.number(command_patterns.DIAGNOSTIC)
    if told >= 2 and told >= 0.25 * (len(sample.lines) - sample.number(command_patterns.QUOTED_SOURCE)):
        return True
    if sample.share(command_patterns.REPORT) >= 0.5 or sample.number(command_patterns.ARROW) >= 2:
        return True
    if sample.share(line_patterns.STAMPED) < 0.2 and sample.reported and not is_trace(sample):
        return True
    steps = sample.number(command_patterns.STEP)
    summed = sample.number(command_patterns.SUMMARY) > 0
    if steps and any(mark in sample.text for mark in command_patterns.ERRORS):
        return True
    if told and (summed or steps) and told + steps >= 0.08 * len(sample.lines):
        return True
    return len(sample.lines) >= 3 and steps >= (0.3 if summed else 0.5) * len(sample.lines)


def is_manual(sample: Sample) -> bool:
    """A manual page or help text: usage, headings at the margin, options below them."""
    options = sample.number(command_patterns.OPTION)
    indented = sum(1 for line in sample.lines if line[0].isspace())
    headings = sample.number(command_patterns.MANUAL_HEADING)
    if not sample.number(command_patterns.USAGE):
        explained = sample.number(command_patterns.EXPLAINED)
        return headings >= 1 and explained >= 0.3 * len(sample.lines) and indented >= 0.6 * len(sample.lines)
    listed = options >= 2 or headings >= 2 or sample.share(command_patterns.EXPLAINED) >= 0.5
    return listed and indented + options >= 0.5 * len(sample.lines)


def is_table(sample: Sample) -> bool:
    if sample.number(line_patterns.MARKDOWN_RULE):  # Markdown handles its own tables
        return False
    if structure.cycles_keys(sample.lines):
        return True
    return structure.is_table(sample.lines) or (len(sample.lines) > 2 and structure.is_measured(sample.lines))


def is_keyed(sample: Sample) -> bool:
    """Lines of `Key words: short value`, as `/proc/cpuinfo`, package managers and `--version` print them."""
    lines = sample.lines
    if len(lines) < 4 or sample.share(command_patterns.KEYED) < 0.8:
        return False
    if structure.repeats_heads(lines) or structure.shares_prefix(lines):
        return False
    return sum(map(len, lines)) < 70 * len(lines) and sample.number(line_patterns.ENDS_SAID) < 0.3 * len(lines)


def is_directives(sample: Sample) -> bool:
    """Instructions in capitals at the margin (SQL, Dockerfiles), macros, shell, or blocks in balanced braces."""
    lines = sample.lines
    if len(lines) < 4:
        return False
    if sample.number(command_patterns.MACRO) >= 2 or sample.number(command_patterns.SHELL) >= max(3, 0.1 * len(lines)):
        return True
    if sample.share(command_patterns.DIRECTIVE) >= 0.5 or sample.share(command_patterns.REQUIRED) >= 0.5:
        return True
    if sample.share(command_patterns.ASSIGNED) >= 0.6 or _hashed(lines) >= 2:
        return not structure.repeats_heads(lines)
    opened = sum(1 for line in lines if line.rstrip()[-1:] in "{[(")
    closed = sum(1 for line in lines if line.strip()[:1] in "}])")
    return min(opened, closed) >= 2 and opened + closed >= 0.25 * len(lines)


def is_stamped(sample: Sample) -> bool:
    """A log whose lines begin with any kind of stamp, or are calls or lines of a protocol."""
    lines = sample.lines
    if len(lines) < 3:
        return False
    for pattern in (command_patterns.CALL, command_patterns.STAMP, command_patterns.PROTOCOL):
        if sample.share(pattern) >= 0.6:
            return True
    return structure.has_moving_head(lines) or structure.shares_prefix(lines) or structure.repeats_heads(lines)


def is_templated(sample: Sample) -> bool:
    return structure.has_few_templates(sample.lines)


# Each test with its precision, (right + 1) / (yes + 2), on the odd half of published and captured outputs and of long
# answers (bench/content.py --only detection); for kinds with few samples, the precision of a similar kind.
TESTS: tuple[tuple[str, Callable[[Sample], bool], float], ...] = (
    ("jsonl", is_jsonl, 0.9),
    ("json", is_json, 0.9),
    ("diff", is_diff, 0.88),
    ("html", is_html, 0.9),
    ("xml", is_xml, 0.67),
    ("binary", is_binary, 0.75),
    ("snapshot", is_snapshot, 0.75),
    ("history", is_history, 0.88),
    ("test", is_test, 0.98),
    ("build", is_build, 0.97),
    ("trace", is_trace, 0.75),
    ("blame", is_blame, 0.67),
    ("matches", is_matches, 0.89),
    ("tree", is_tree, 0.95),
    ("log", is_log, 0.98),
    ("manual", is_manual, 0.92),
    ("code", is_settings, 0.93),
    ("markdown", is_markdown_table, 0.67),
    ("log", is_wordy_log, 0.94),
    ("table", is_table, 0.92),
    ("code", is_code, 0.88),
    ("code", is_directives, 0.89),
    ("csv", is_csv, 0.67),
    ("code", is_keyed, 0.8),
    ("log", is_stamped, 0.78),
    ("markdown", is_markdown, 0.99),
    ("prose", is_prose, 0.6),
    ("log", is_templated, 0.6),
)


@dataclass(frozen=True, slots=True)
class Told:
    """The kind of a text, and the confidence in it, from 0 to 1."""

    kind: str
    confidence: float


# Below this confidence, a content is shortened as text of unknown kind.
LEAST_SURE = 0.55
_NONE = Told("text", 0.5)


def sniff(text: str) -> str:
    """The kind of a text by its content alone. Example: '{"a": 1}' -> "json" """
    return told(text).kind


def told(text: str) -> Told:
    """The kind of a text by its content alone, with the confidence in it."""
    sample = Sample(text)
    if not sample.start and not text.strip():
        return _NONE
    plain = _unnumbered(sample)
    found = _first(sample) if plain is None else _first(Sample(plain), skip=("csv", "tree"))
    if found.confidence < LEAST_SURE:
        return Told("text", found.confidence)
    return found


def _first(sample: Sample, skip: tuple[str, ...] = ()) -> Told:
    for kind, test, sure in TESTS:
        if kind not in skip and test(sample):
            return Told(kind, sure)
    return _NONE


def _unnumbered(sample: Sample) -> str | None:
    """The sampled lines of a numbered listing (`cat -n`) without their numbers; None if it isn't one."""
    lines = sample.lines
    if len(lines) < 3:
        return None
    found = [match for line in lines if (match := line_patterns.NUMBERED.match(line))]
    if len(found) < 0.9 * len(lines) or sample.reported:
        return None
    numbers = [int(match.group(1)) for match in found]
    steps = sum(1 for a, b in pairwise(numbers) if 0 < b - a <= 3)
    return "\n".join(match.group(2) for match in found) if steps >= 0.8 * (len(numbers) - 1) else None
