"""What kind of content a text is, told from samples of its head, middle and tail.

Each kind has one test; they are asked in the order in which a yes is surest. A test looks at the shape of
sampled lines, never at all of a large text, so that the answer takes a fraction of a millisecond.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

_HEAD, _MIDDLE, _TAIL = 6_000, 3_000, 3_000
_MOST_LINES = 160

_DIFF = re.compile(r"^(?:diff --git |Index: |@@ -\d+(?:,\d+)? \+\d+|\*\*\* Begin Patch)", re.M)
_DIFF_FILE = re.compile(r"^--- [^\n]+\n\+\+\+ ", re.M)
_HUNK = re.compile(r"^@@ -\d+(?:,\d+)? \+\d+(?:,\d+)? @@", re.M)

_HTML_START = re.compile(r"(?:<!--.{0,400}?-->\s*)?<(?:!doctype\s+html|html|head|body)\b", re.I | re.S)
_HTML_TAG = re.compile(
    r"</?(?:a|article|aside|body|br|button|div|footer|form|h[1-6]|head|header|img|input|label|li|link|main|meta|nav|ol|"
    r"option|p|path|script|section|span|style|svg|table|tbody|td|th|tr|ul)\b[^<>]{0,300}>",
    re.I,
)
_XML_START = re.compile(r"<\?xml\b|<!DOCTYPE\s|<([A-Za-z_][\w.:-]*)(?:\s[^<>]{0,2000})?/?>")
_TAG = re.compile(r"</?[A-Za-z_][\w.:-]*(?:\s[^<>]{0,500})?/?>")

_TREE_LINE = re.compile(r"^[│| \u00a0\t]*(?:[├└╰]─+|(?<=\|)--|`--|\+--|\\--)", re.M)
_LS_LINE = re.compile(r"^(?:total \d+|[-dlcbps][-rwxsStT]{9}[.+@]? )")
_PATH_LINE = re.compile(
    r"^(?:\d+[:.)] )?(?:[\w@+.,~$%=-]+(?: [\w@+.,~$%=-]+)?)?"
    r"(?:[/\\][\w@+.,~$%=()\[\]-]+(?: [\w@+.,~$%=-]+)?)+[/\\]?[*@=|>]?:?$"
)
_FILE_LINE = re.compile(r"^[\w@+.,~$%=-]*\.[A-Za-z][A-Za-z0-9]{0,9}\*?$|^[\w.-]+/$|^[\w.-]+$")

_SNAPSHOT_LINE = re.compile(
    r"^\s*(?:- (?:'|/)?(?:[a-z]+)(?: \"[^\n]*)?(?: \[[a-z-]+(?:=[^\]\n]*)?\])*:?.{0,200}$|uid=\S+ \w+|\[\d+\]\s*<?\w+)"
)
_SNAPSHOT_SIGN = re.compile(
    r"\[ref=\w+\]|\buid=\d+_\d+ |^\s*- (?:generic|button|link|textbox|heading|img|listitem|list|"
    r"navigation|banner|main|contentinfo|document|paragraph|combobox|checkbox|table|row|cell|text|region|dialog|tab)"
    r"(?: \"|:| \[|$)|^\s*\[\d+\] (?:button|link|StaticText|RootWebArea|textbox|heading|img) ",
    re.M,
)

_TEST_SIGN = re.compile(
    r"=+ (?:test session starts|FAILURES|ERRORS|short test summary info|warnings summary|.{0,60}\bin [\d.]+s\b.{0,12}) ?=+"
    r"|^(?:FAILED|PASSED|ERROR|SKIPPED|XFAIL|XPASS) [\w./-]+(?:::|\.py)"
    r"|^\S+::\S+ (?:PASSED|FAILED|ERROR|SKIPPED)"
    r"|^\S.{0,200}? \.\.\. (?:ok|FAIL|ERROR|skipped|ignored|FAILED)\b"
    r"|^(?:FAIL|ERROR): \w+ \(|^Ran \d+ tests? in |^(?:OK|FAILED) \((?:failures|errors|skipped)"
    r"|^\s*--- (?:FAIL|PASS|SKIP): |^(?:ok|FAIL|\?)\s+\t?\S+/\S+\s+(?:[\d.]+s|\[|\(cached)|^=== (?:RUN|PAUSE|CONT) "
    r"|^test result: (?:ok|FAILED)|^running \d+ tests?$|^test \S+ \.\.\. "
    r"|^(?:PASS|FAIL) \S+\.(?:test|spec)\.\w+|^Tests:\s+\d+ |^Test Suites:\s+\d+|^\s+[✓✕✗×✔] .+|^\s+\d+ (?:passing|failing|pending)\b"
    r"|^\[(?:INFO|ERROR|WARNING)\] (?:Tests run:|BUILD |Running |Compiling )|^Tests run: \d+"
    r"|^(?:not )?ok \d+ - |^\d+ examples?, \d+ failures?"
    r"|^npm (?:ERR!|error)|^error(?:\[E\d+\])?: .+|^warning: .+|^make(?:\[\d+\])?: (?:\*\*\*|Entering|Leaving)|^BUILD (?:FAILED|SUCCESSFUL)"
    r"|^\S+?[(:]\d+[,:]\d+\)?: (?:fatal )?(?:error|warning|note)\b|^> Task :|^\s*Compiling \S+ v\d|^\[\s*\d+%\] (?:Building|Linking|Built)"
    r"|^Successfully installed |^Collecting \S+|^FAILURE: Build failed|^\S+\(\d+,\d+\): error TS\d+",
    re.M,
)
_STRONG_TEST = re.compile(
    r"=+ (?:test session starts|FAILURES|short test summary info) =+|^Ran \d+ tests? in |^test result: (?:ok|FAILED)"
    r"|^Test Suites:\s+\d+|^(?:ok|FAIL)\s+\t?\S+/\S+\s+[\d.]+s|^\s*--- FAIL: |=+ .{0,60}\b(?:passed|failed)\b.{0,60} in [\d.]+s"
    r"|^\[(?:INFO|ERROR)\] BUILD |^BUILD (?:FAILED|SUCCESSFUL)|^\d+ examples?, \d+ failures?|^npm (?:ERR!|error) code",
    re.M,
)

_TRACE_HEAD = re.compile(
    r"^\s*(?:Traceback \(most recent call last\):|Exception in thread \"|goroutine \d+ \[|thread '[^'\n]*' panicked at"
    r"|[\w.$]+(?:Error|Exception)\b.{0,300}\n\s+at |Unhandled exception|panic: |stack backtrace:|Caused by: )",
    re.M,
)
_TRACE_LINE = re.compile(
    r"^\s*(?:File \"[^\"\n]+\", line \d+|at [\w.$<>/\[\] ]+\s?\(.{0,300}\)|at (?:async )?(?:file://|node:|/|[A-Z]:\\)\S+:\d+"
    r"|at .{1,200} in .{1,200}:line \d+|\.\.\. \d+ more|Caused by: |\d+: +0x[0-9a-f]+|\d+: [\w:<>{}$]+$|at \S+\.rs:\d+"
    r"|\t\S+\.go:\d+|from \S+\.rb:\d+:in |#\d+ +\S+.{0,200}(?:\(\d+\)|:\d+)|Traceback \()"
)

_LOG_LINE = re.compile(
    r"^\W{0,3}(?:\d{4}[-/.]\d\d?[-/.]\d\d?[T ,_]\s?\d\d?[:.]\d\d|\d\d[-/]\d\d[-/ ]?(?:\d\d)?,? \d\d:\d\d:\d\d|\d{6} \d{6} "
    r"|(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*,? (?:[A-Z][a-z]{2} +\d|\d)|[A-Z][a-z]{2} +\d{1,2} \d\d:\d\d:\d\d|\d\d:\d\d:\d\d[.,: ]"
    r"|\d{10,13}(?:\.\d+)? |<\d+>|\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3} \S+ \S+ \["
    r"|(?:TRACE|DEBUG|INFO|NOTICE|WARN|WARNING|ERROR|FATAL|CRITICAL|SEVERE)\b\s?[:\]|\[(-]|[IWEF]\d{4} \d\d:\d\d|\[\s*\d+\.\d{6}\]"
    r"|(?:level|time|ts|severity)=\S+ )"
    r"|^[\w.\[\]-]{1,40}\s+\|\s+\S|^.{0,80}?\b(?:TRACE|DEBUG|INFO|NOTICE|WARN|WARNING|ERROR|FATAL|CRITICAL)\b[:\] ]"
)

_NUMBERED = re.compile(r"^ {0,8}(\d{1,7})(?:\t|→| ?\| ?|: |:)(.*)$")

_CODE_LINE = re.compile(
    r"^\s*(?:(?:pub(?:\([a-z]+\))? |export |default |async |static |public |private |protected |final |abstract |const |unsafe |"
    r"override |virtual |inline |extern |internal |open |data |sealed )*"
    r"(?:def|class|function|fn|func|struct|enum|trait|impl|interface|namespace|module|package|import|from|use|using|type|let|var|"
    r"const|val|return|raise|throw|elif|else|if|for|while|switch|case|match|try|except|catch|finally|with|yield|await|"
    r"void|int|float|double|bool|char|string|String|boolean|long|auto|public|private|protected|static|async|export|unsafe|mod|"
    r"require|require_once|include|echo|end|do|begin|local|SELECT|INSERT|UPDATE|DELETE|CREATE|ALTER|FROM|WHERE|JOIN)\b[^.!?]*[\w\])}>:;,{(\"'*\\]?$"
    r"|#\s?(?:include|define|ifdef|ifndef|endif|pragma)\b|@[\w.]+(?:\(.*\))?$|//|/\*|\*/|\* |#!\[?|--\s|///|\"\"\""
    r"|[\w.\[\]\"'$>*-]+(?:: [\w\[\], |.]+)? (?:[-+*/|&]|<<|>>|\?\?)?:?= .+|[\w.$:>-]+\(.*\)?[;,{:]?$|[)\]}]+[;,)]*\s*(?:else\b.*)?\{?$|.*[;{}]$|.*\) ?(?:->|=>).*$"
    r"|[{}()\[\]]+[;,]?$|#\[.+\]$)"
)
_CODE_FIRM = re.compile(
    r"^\s*(?:def \w+\(|class \w+\s?[:({]|(?:pub )?fn \w+|func (?:\(.*?\) )?\w+\(|(?:export )?(?:async )?function \w*\(|import [\w{*\"']|"
    r"from [\w.]+ import |#include\s?[<\"]|package [\w.]+;?$|use [\w:]+|using [\w.]+;|public (?:static |final |class )|"
    r"(?:const|let|var) \w+ ?[=:]|\w[\w<>\[\] *&]* \w+\([^)]*\) ?\{|return\b.*;|if \(.*\) ?\{|}\s?else|impl\b|#!/|<\?php|@\w+\b|"
    r"CREATE TABLE|SELECT .+ FROM|(?:pub )?struct \w+|namespace \w+|module \w+|interface \w+ ?\{)",
    re.M,
)
_YAML_LINE = re.compile(r"^\s*(?:- )?[\w./\"'-]+:(?: .*)?$|^\s*- \S.*$|^\s*#.*$|^---$")
_INI_LINE = re.compile(r"^\s*(?:\[[\w. \"':-]+\]|\[\[[\w.-]+\]\]|[\w.-]+\s?=\s?.*|[#;].*)$")

_MARKDOWN_FIRM = re.compile(
    r"^#{1,6} \S|^(?:```|~~~)|^\|.*\|\s*\n\|[ :|-]+\|\s*$|^(?:\d+[.)]|[-*+]) \*\*|\[[^\]\n]{1,200}\]\([^)\s]{1,400}\)|^> \S|^(?:={3,}|-{3,})\s*$",
    re.M,
)
_HEADING = re.compile(r"^#{1,6} \S[^;{}]*$", re.M)
_LIST_ITEM = re.compile(r"^\s{0,6}(?:[-*+]|\d{1,3}[.)]) \S", re.M)
_EMPHASIS = re.compile(r"\*\*[^*\n]{1,200}\*\*|(?<!`)`[^`\n]{1,80}`(?!`)")

_WORDS = re.compile(r"[^\W\d_]{2,}")
_SENTENCE = re.compile(r"[.!?:…。！？]['\")\]]?(?:\s|$)|[。！？]")
_DATA_URL = re.compile(r"\s*(?:data:[\w.+-]+/[\w.+-]+[;,]|-----BEGIN )")
_BASE64 = re.compile(r"(?:[A-Za-z0-9+/_-]{60,}={0,2})")
_HEX_LINE = re.compile(r"^(?:0x)?[0-9a-fA-F]{4,16}[:\s]\s{0,3}(?:[0-9a-fA-F]{2,8}\s{1,3}){4}|^(?:[0-9a-fA-F]{2}[ :]){12}", re.M)
_HEX_RUN = re.compile(r"[0-9a-fA-F]{128,}")
_BUNDLE = re.compile(r"[;{}(),!?&|=:]")
_SCRIPT = re.compile(r"function\s?\w*\(|=>|\bvar \w|\breturn\b|\bthis\.|[\w-]+\{[\w-]+:|void 0|!0\b")


@dataclass(frozen=True)
class Sample:
    """Head, middle and tail of a text, on line borders."""

    text: str

    @cached_property
    def body(self) -> str:
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
        return self.text[:4_000].lstrip("\ufeff \t\r\n")

    @cached_property
    def end(self) -> str:
        return self.text[-2_000:].rstrip()

    @cached_property
    def lines(self) -> list[str]:
        found = [line for line in self.body.split("\n") if line and not line.isspace()]
        if len(found) > _MOST_LINES:
            third = _MOST_LINES // 4
            centre = len(found) // 2
            found = found[: 2 * third] + found[centre : centre + third] + found[-third:]
        return found

    def share(self, pattern: re.Pattern[str]) -> float:
        """The share of the sampled lines that match."""
        return sum(1 for line in self.lines if pattern.match(line[:400])) / len(self.lines) if self.lines else 0.0

    def number(self, pattern: re.Pattern[str]) -> int:
        return sum(1 for _ in pattern.finditer(self.body))


def _after_newline(text: str, at: int) -> int:
    found = text.find("\n", at, at + 2_000)
    return found + 1 if found >= 0 else at


def is_json(sample: Sample) -> bool:
    start, end = sample.start, sample.end
    if start[:1] == "{":
        inside = start[1:].lstrip()[:1]
        return (inside == '"' and start.find('":', 0, 2_000) >= 0 or _key_spaced(start)) or (inside == "}" and end == "{}")
    if start[:1] != "[":
        return False
    inside = start[1:].lstrip()
    if inside[:1] == "]":
        return end == "[]"
    if inside[:1] in '{["':
        return end[-1:] == "]" or inside[:1] == "{" and _has_key(inside)
    return end[-1:] == "]" and bool(re.match(r"(?:-?\d[\d.eE+-]*|true|false|null)\s*[,\]]", inside))


def _has_key(start: str) -> bool:
    return bool(re.match(r'\{\s*"(?:[^"\\\n]|\\.){0,500}"\s*:', start))


def _key_spaced(start: str) -> bool:
    return _has_key(start)


def is_jsonl(sample: Sample) -> bool:
    lines = sample.lines
    if len(lines) < 2 or sample.start[:1] not in "{[":
        return False
    whole = [line for line in lines[:40] if len(line) < _MIDDLE]
    objects = sum(1 for line in whole if _is_value_line(line))
    if whole:
        return objects >= 0.9 * len(whole) and objects >= 2
    return sample.start[:2] == '{"' and "}\n{" in sample.text[: 2_000_000]


def _is_value_line(line: str) -> bool:
    line = line.strip()
    return (line[:1] == "{" and line[-1:] == "}" and (_has_key(line) or line == "{}")) or (
        line[:2] in ('["', "[{", "[[") and line[-1:] == "]"
    )


def is_binary(sample: Sample) -> bool:
    body = sample.body
    if _DATA_URL.match(body):
        return True
    odd = body.count("\x00") + body.count("\ufffd") + sum(body.count(c) for c in "\x01\x02\x03\x04\x05\x06\x0e\x0f\x10\x14\x16\x19\x1a\x7f")
    if odd > 4 and odd > len(body) * 0.02:
        return True
    if len(body) < 100:
        return False
    if sum(len(run) for run in _BASE64.findall(body)) > 0.8 * len(body) and _mixed(body):
        return True
    if sum(len(run) for run in _HEX_RUN.findall(body)) > 0.8 * len(body):
        return True
    if len(sample.lines) > 1 and sample.share(_HEX_LINE) > 0.7:
        return True
    longest = max(map(len, sample.lines), default=0)
    return longest > 1_500 and _is_bundle(body)


def _mixed(body: str) -> bool:
    """Whether letters of both cases and digits stand as mixed as in base64, not as in one long word."""
    part = body[:2_000]
    upper = sum(map(str.isupper, part))
    return upper > len(part) * 0.15 and any(map(str.isdigit, part))


def _is_bundle(body: str) -> bool:
    return len(_BUNDLE.findall(body)) > 0.12 * len(body) and len(_SCRIPT.findall(body)) > len(body) / 400


def is_diff(sample: Sample) -> bool:
    body = sample.body
    if not _DIFF.search(body) and not _DIFF_FILE.search(body):
        return False
    if sample.start.startswith(("diff --git ", "--- ", "Index: ", "*** Begin Patch", "@@ -")):
        return True
    changed = sum(1 for line in sample.lines if line[0] in "+-@ " or line.startswith(("diff ", "index ")))
    return bool(_HUNK.search(body)) and changed > 0.6 * len(sample.lines)


def is_html(sample: Sample) -> bool:
    if _HTML_START.match(sample.start):
        return True
    if "<" not in sample.body:
        return False
    tags = sample.number(_HTML_TAG)
    starts = sample.start[:1] == "<" and bool(_HTML_TAG.match(sample.start))
    return tags >= (4 if starts else 12) and tags > len(sample.body) / (1_000 if starts else 250)


def is_xml(sample: Sample) -> bool:
    found = _XML_START.match(sample.start)
    if not found:
        return False
    if found.group().startswith(("<?xml", "<!DOCTYPE")):
        return True
    name = found.group(1)
    if sample.end.endswith(f"</{name}>") or found.group().endswith("/>"):
        return True
    return sample.number(_TAG) >= max(4, len(sample.lines) // 2) and sample.end.endswith(">")


def is_snapshot(sample: Sample) -> bool:
    signs = sample.number(_SNAPSHOT_SIGN)
    return signs >= 3 and signs >= 0.3 * len(sample.lines) and sample.share(_SNAPSHOT_LINE) > 0.5


def is_test(sample: Sample) -> bool:
    signs = sample.number(_TEST_SIGN)
    if not signs:
        return False
    if _STRONG_TEST.search(sample.body):
        return sample.share(_LOG_LINE) < 0.8 or signs > 3
    return signs >= 2 and signs >= 0.25 * len(sample.lines)


def is_trace(sample: Sample) -> bool:
    if not _TRACE_HEAD.search(sample.body):
        return sample.share(_TRACE_LINE) > 0.6 and len(sample.lines) > 2
    return sample.share(_TRACE_LINE) >= 0.3 or bool(_TRACE_HEAD.match(sample.start) and sample.share(_LOG_LINE) < 0.3)


def is_log(sample: Sample) -> bool:
    return len(sample.lines) >= 2 and sample.share(_LOG_LINE) >= 0.5


def is_tree(sample: Sample) -> bool:
    lines = sample.lines
    if len(lines) < 3:
        return False
    drawn = sample.number(_TREE_LINE)
    if drawn >= 0.6 * len(lines):
        return True
    if sample.share(_LS_LINE) > 0.6:
        return True
    paths = sample.share(_PATH_LINE)
    if paths > 0.85:
        return True
    named = sum(1 for line in lines if "." in line) >= 0.3 * len(lines) or paths > 0.1
    return named and len(lines) >= 5 and paths + sample.share(_FILE_LINE) > 0.95


def is_csv(sample: Sample) -> bool:
    lines = sample.lines[:80]
    if len(lines) < 3:
        return False
    for delimiter in ("\t", ",", ";", "|"):
        counts = Counter(_cells(line, delimiter) for line in lines)
        cells, same = counts.most_common(1)[0]
        if cells < 1 or same < 0.85 * len(lines):
            continue
        if delimiter == "|" and lines[0].lstrip().startswith("|"):
            continue
        if cells < 3 and delimiter != "\t" and _prose_like(sample):
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
    words = sum(len(_WORDS.findall(line[:400])) for line in lines)
    commas = sum(1 for line in lines if ", " in line)
    return words > 6 * len(lines) or commas > 0.6 * len(lines)


def is_code(sample: Sample) -> bool:
    lines = sample.lines
    if len(lines) < 2:
        return bool(lines) and bool(_CODE_FIRM.match(lines[0])) and lines[0].rstrip()[-1:] in ";{})"
    coded = sample.share(_CODE_LINE)
    firm = sample.number(_CODE_FIRM)
    if firm and coded > 0.45 and (firm >= 0.05 * len(lines) or coded > 0.6):
        return True
    return coded > 0.8 and len(lines) > 4 and sum(1 for line in lines if line.rstrip()[-1:] in ";{}),:") > 0.4 * len(lines)


def is_settings(sample: Sample) -> bool:
    """YAML, TOML, INI: folded by indentation like code."""
    if len(sample.lines) < 4:
        return False
    keyed = sum(1 for line in sample.lines if re.match(r"\s*(?:- )?[\w./\"'-]+:(?:\s|$)", line))
    if sample.share(_YAML_LINE) > 0.85 and keyed > 0.5 * len(sample.lines) and not _prose_like(sample):
        return True
    return sample.share(_INI_LINE) > 0.85 and any("=" in line for line in sample.lines) and not _prose_like(sample)


def is_markdown(sample: Sample) -> bool:
    body = sample.body
    firm = sample.number(_MARKDOWN_FIRM)
    if not firm:
        return len(sample.lines) > 2 and sample.number(_LIST_ITEM) > 0.5 * len(sample.lines)
    headings = sample.number(_HEADING)
    lists = sample.number(_LIST_ITEM)
    fences = body.count("```")
    if headings >= 2 or (headings and (fences >= 2 or lists or sample.start.startswith("#"))):
        return True
    score = firm + 0.5 * lists + 0.5 * min(20, sample.number(_EMPHASIS))
    return score >= max(3, 0.12 * len(sample.lines)) or (fences >= 2 and score >= 2)


def is_prose(sample: Sample) -> bool:
    body = sample.body
    if not body:
        return False
    words = _WORDS.findall(body)
    wide = sum(1 for c in body[:2_000] if c >= "\u2e80")
    if wide > 0.3 * min(2_000, len(body)):
        return bool(_SENTENCE.search(body))
    letters = sum(map(len, words))
    return len(words) >= 4 and letters > 0.6 * len(body.replace("\n", "")) - body.count(" ") and (
        bool(_SENTENCE.search(body)) and len(words) >= 3 * len(sample.lines)
    )


TESTS: tuple[tuple[str, Callable[[Sample], bool]], ...] = (
    ("jsonl", is_jsonl),
    ("json", is_json),
    ("diff", is_diff),
    ("html", is_html),
    ("xml", is_xml),
    ("binary", is_binary),
    ("snapshot", is_snapshot),
    ("test", is_test),
    ("trace", is_trace),
    ("tree", is_tree),
    ("log", is_log),
    ("code", is_code),
    ("csv", is_csv),
    ("markdown", is_markdown),
    ("code", is_settings),
    ("prose", is_prose),
)


def sniff(text: str) -> str:
    """The kind of a text, by its content alone. Example: '{"a": 1}' -> "json" """
    sample = Sample(text)
    if not sample.start and not text.strip():
        return "text"
    plain = _unnumbered(sample)
    if plain is not None:
        return _first(Sample(plain), skip=("csv", "tree"))
    return _first(sample)


def _first(sample: Sample, skip: tuple[str, ...] = ()) -> str:
    for kind, test in TESTS:
        if kind not in skip and test(sample):
            return kind
    return "text"


def _unnumbered(sample: Sample) -> str | None:
    """The sampled lines of a numbered listing (`cat -n`) without their numbers; None if it is not one."""
    lines = sample.lines
    if len(lines) < 3:
        return None
    found = [match for line in lines if (match := _NUMBERED.match(line))]
    if len(found) < 0.9 * len(lines):
        return None
    numbers = [int(match.group(1)) for match in found]
    steps = sum(1 for a, b in zip(numbers, numbers[1:], strict=False) if 0 < b - a <= 3)
    return "\n".join(match.group(2) for match in found) if steps >= 0.8 * (len(numbers) - 1) else None
