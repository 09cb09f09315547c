"""Patterns for the lines of each kind of content, matched from the start of a line."""

from __future__ import annotations

import re

DIFF_FILE = re.compile(r"--- [^\n]+\n\+\+\+ ")
HUNK = re.compile(r"^@@ -\d+(?:,\d+)? \+\d+(?:,\d+)? @@", re.M)

HTML_START = re.compile(r"(?:<!--.{0,400}?-->\s*)?<(?:!doctype\s+html|html|head|body)\b", re.I | re.S)
HTML_TAG = re.compile(
    r"</?(?:a|article|aside|body|br|button|div|footer|form|h[1-6]|head|header|img|input|label|li|link|main"
    r"|meta|nav|ol|"
    r"option|p|path|script|section|span|style|svg|table|tbody|td|th|tr|ul)\b[^<>]{0,300}>",
    re.I,
)
XML_START = re.compile(r"<\?xml\b|<!DOCTYPE\s|<([A-Za-z_][\w.:-]*)(?:\s[^<>]{0,2000})?/?>")
TAG = re.compile(r"</?[A-Za-z_][\w.:-]*(?:\s[^<>]{0,500})?/?>")

TREE_LINE = re.compile(r"[│| \u00a0\t]*(?:[├└╰]─+|(?<=\|)--|`--|\+--|\\--)")
LS_LINE = re.compile(r"(?:total \d+|(?: *\d+ +\d+ )?[-dlcbps][-rwxsStT]{9}[.+@]? )")
PATH_LINE = re.compile(
    r"(?:\d+[:.)] )?(?:[\w@+.,~$%=-]+(?: [\w@+.,~$%=-]+)?)?"
    r"(?:[/\\][\w@+.,~$%=()\[\]-]+(?: [\w@+.,~$%=-]+)?)+[/\\]?[*@=|>]?:?$"
)
FILE_LINE = re.compile(r"[\w@+.,~$%=-]*\.[A-Za-z][A-Za-z0-9]{0,9}\*?$|[\w.-]+/$|[\w.-]+$")

SNAPSHOT_LINE = re.compile(
    r"\s*(?:- (?:'|/)?(?:[a-z]+)(?: \"[^\n]*)?(?: \[[a-z-]+(?:=[^\]\n]*)?\])*:?.{0,200}$|uid=\S+ \w+|\[\d+\]\s*<?\w+)"
)
SNAPSHOT_SIGN = re.compile(
    r".*\[ref=\w+\]|\s*uid=\d+_\d+ |\s*- (?:generic|button|link|textbox|heading|img|listitem|list|"
    r"navigation|banner|main|contentinfo|document|paragraph|combobox|checkbox|table|row|cell|text|region|dialog|tab)"
    r"(?: \"|:| \[|$)|\s*\[\d+\] (?:button|link|StaticText|RootWebArea|textbox|heading|img) ",
)

TEST_SIGN = re.compile(
    r"=+ (?:test session starts|FAILURES|ERRORS|short test summary info|warnings summary"
    r"|.{0,60}\bin [\d.]+s\b.{0,12}) ?=+"
    r"|(?:FAILED|PASSED|ERROR|SKIPPED|XFAIL|XPASS) [\w./-]+(?:::|\.py)"
    r"|\S+::\S+ (?:PASSED|FAILED|ERROR|SKIPPED)"
    r"|\S.{0,200}? \.\.\. (?:ok|FAIL|ERROR|skipped|ignored|FAILED)\b"
    r"|(?:FAIL|ERROR): \w+ \(|Ran \d+ tests? in |(?:OK|FAILED) \((?:failures|errors|skipped)"
    r"|\s*--- (?:FAIL|PASS|SKIP): |(?:ok|FAIL|\?)\s+\t?\S+/\S+\s+(?:[\d.]+s|\[|\(cached)|=== (?:RUN|PAUSE|CONT) "
    r"|test result: (?:ok|FAILED)|running \d+ tests?$|test \S+ \.\.\. "
    r"|(?:PASS|FAIL) \S+\.(?:test|spec)\.\w+|Tests:\s+\d+ |Test Suites:\s+\d+|\s+[✓✕✗×✔] .+|\s+\d+ (?:passing"
    r"|failing|pending)\b"
    r"|\[(?:INFO|ERROR|WARNING)\] (?:Tests run:|Running )|Tests run: \d+"
    r"|(?:not )?ok \d+ - |\d+ examples?, \d+ failures?"
    r"|\d+\.\.\d+$|# (?:pass|fail|tests) +\d+|ℹ (?:pass|fail|tests) \d+|t/\S+ \.+|Files=\d+, Tests=\d+",
)
STRONG_TEST = re.compile(
    r"=+ (?:test session starts|FAILURES|short test summary info) =+|Ran \d+ tests? in |test result: (?:ok|FAILED)"
    r"|Test Suites:\s+\d+|(?:ok|FAIL)\s+\t?\S+/\S+\s+[\d.]+s|\s*--- FAIL: |=+ .{0,60}\b(?:passed"
    r"|failed)\b.{0,60} in [\d.]+s"
    r"|\[(?:INFO|ERROR)\] Tests run:|\d+ examples?, \d+ failures?|\s+\d+ (?:passing|failing)\b|# (?:pass|fail) +\d+$"
    r"|ℹ (?:pass|fail) \d+|Files=\d+, Tests=\d+|=+ .{0,90} in [\d.]+ seconds =+",
)

TRACE_HEAD = re.compile(
    r"^\s*(?:Traceback \(most recent call last\):|Exception in thread \"|goroutine \d+ \["
    r"|thread '[^'\n]*' panicked at"
    r"|[\w.$]+(?:Error|Exception)\b.{0,300}\n\s+at |Unhandled exception|panic: |stack backtrace:|Caused by: )",
    re.M,
)
TRACE_LINE = re.compile(
    r"\s*(?:File \"[^\"\n]+\", line \d+|at [\w.$<>/\[\] ]+\s?\(.{0,300}\)|at (?:async )?(?:file://|node:|/"
    r"|[A-Z]:\\)\S+:\d+"
    r"|at .{1,200} in .{1,200}:line \d+|\.\.\. \d+ more|Caused by: |\d+: +0x[0-9a-f]+|\d+: [\w<>{}$]+::\S+$"
    r"|at \S+\.rs:\d+"
    r"|\t\S+\.go:\d+|from \S+\.rb:\d+:in |#\d+ +\S+.{0,200}(?:\(\d+\)|:\d+)|Traceback \()"
)

LOG_LINE = re.compile(
    r"\W{0,3}(?:\d{4}[-/.]\d\d?[-/.]\d\d?[T ,_]\s?\d\d?[:.]\d\d|\d\d[-/]\d\d[-/ ]?(?:\d\d)?,? \d\d:\d\d:\d\d"
    r"|\d{6} \d{6} "
    r"|(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*,? (?:[A-Z][a-z]{2} +\d|\d)|[A-Z][a-z]{2} +\d{1,2} \d\d:\d\d:\d\d"
    r"|\d\d:\d\d:\d\d[.,: ]"
    r"|\d{10,13}(?:\.\d+)? |<\d+>|\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3} \S+ \S+ \["
    r"|(?:TRACE|DEBUG|INFO|NOTICE|WARN|WARNING|ERROR|FATAL|CRITICAL|SEVERE)\b\s?[:\]|\[(-]"
    r"|[IWEF]\d{4} \d\d:\d\d|\[\s*\d+\.\d{6}\]"
    r"|(?:level|time|ts|severity)=\S+ )"
    r"|[\w.\[\]-]{1,40}\s+\|\s+\S|.{0,80}?\b(?:TRACE|DEBUG|INFO|NOTICE|WARN|WARNING|ERROR|FATAL|CRITICAL)\b[:\] ]"
)

# A full date and time at the margin.
STAMPED = re.compile(r"\W?\d{4}[-/]\d\d[-/]\d\d[T ]\d\d:\d\d:\d\d")
NUMBERED = re.compile(r"^ {0,8}(\d{1,7})(?:\t|→| ?\| ?|: |:)(.*)$")

SIGNS = frozenset("(){}[]=;_<>")
CODE_LINE = re.compile(
    r"\s*(?:(?:pub(?:\([a-z]+\))? |export |default |async |static |public |private |protected |final "
    r"|abstract |const |unsafe |"
    r"override |virtual |inline |extern |internal |open |data |sealed )*"
    r"(?:def|class|function|fn|func|struct|enum|trait|impl|interface|namespace|module|package|import|from|use"
    r"|using|type|let|var|"
    r"const|val|return|raise|throw|elif|else|if|for|while|switch|case|match|try|except|catch|finally|with"
    r"|yield|await|"
    r"void|int|float|double|bool|char|string|String|boolean|long|auto|public|private|protected|static|async"
    r"|export|unsafe|mod|"
    r"require|require_once|include|echo|end|do|begin|local|SELECT|INSERT|UPDATE|DELETE|CREATE|ALTER|FROM"
    r"|WHERE|JOIN)\b[^.!?]*[\w\])}>:;,{(\"'*\\]?$"
    r"|#\s?(?:include|define|ifdef|ifndef|endif|pragma)\b|@[\w.]+(?:\(.*\))?$|//|/\*|\*/|\* |#!\[?|--\s|///|\"\"\""
    r"|[\w.\[\]\"'$>*-]+(?:: [\w\[\], |.]+)? (?:[-+*/|&]|<<|>>|\?\?)?:?= .+|[\w.$:>-]+\(.*\)?[;,{:]?$"
    r"|[)\]}]+[;,)]*\s*(?:else\b.*)?\{?$|.*[;{}]$|.*\) ?(?:->|=>).*$"
    r"|[{}()\[\]]+[;,]?$|#\[.+\]$)"
)
CODE_FIRM = re.compile(
    r"\s*(?:def \w+\(|class \w+\s?[:({]|(?:pub )?fn \w+|func (?:\(.*?\) )?\w+\("
    r"|(?:export )?(?:async )?function \w*\(|import [\w{*\"']|"
    r"from [\w.]+ import |#include\s?[<\"]|package [\w.]+;?$|use [\w:]+|using [\w.]+;|public (?:static "
    r"|final |class )|"
    r"(?:const|let|var) \w+ ?[=:]|\w[\w<>\[\] *&]* \w+\([^)]*\) ?\{|return\b.*;|if \(.*\) ?\{|}\s?else|impl\b"
    r"|#!/|<\?php|@\w+\b|"
    r"CREATE (?:TABLE|INDEX|VIEW)|SELECT\s|INSERT INTO |ALTER TABLE|(?:pub )?struct \w+|namespace \w+"
    r"|module \w+|interface \w+ ?\{)",
)
YAML_LINE = re.compile(r"\s*(?:- )?[\w./\"'-]+:(?: .*)?$|\s*- \S.*$|\s*#.*$|---$")
INI_LINE = re.compile(r"\s*(?:\[[\w. \"':-]+\]|\[\[[\w.-]+\]\]|[\w.-]+\s?=\s?.*|[#;].*)$")

MARKDOWN_FIRM = re.compile(r"#{1,6} \S|```|~~~|\|[ :|-]+\|\s*$|(?:\d+[.)]|[-*+]) \*\*|> \S|(?:={3,}|-{3,})\s*$")
MARKDOWN_RULE = re.compile(r"\s*\|?(?: ?:?-{3,}:? ?\|)+[ :-]*$")
HEADING = re.compile(r"#{1,6} \S[^;{}]*$")
LIST_ITEM = re.compile(r"\s{0,6}(?:[-*+]|\d{1,3}[.)]) \S")
WORDS = re.compile(r"[^\W\d_]{2,}")
SENTENCE = re.compile(r"[.!?:…。！？]['\")\]]?(?:\s|$)|[。！？]")
# Control characters that don't occur in text, and the replacement character of undecodable bytes.
ODD = "\x00\ufffd\x01\x02\x03\x04\x05\x06\x0e\x0f\x10\x14\x16\x19\x1a\x7f"
DATA_URL = re.compile(r"\s*(?:data:[\w.+-]+/[\w.+-]+[;,]|-----BEGIN )")
BASE64 = re.compile(r"(?:[A-Za-z0-9+/_-]{60,}={0,2})")
HEX_LINE = re.compile(r"(?:0x)?[0-9a-fA-F]{4,16}[:\s]\s{0,3}(?:[0-9a-fA-F]{2,8}\s{1,3}){4}|(?:[0-9a-fA-F]{2}[ :]){12}")
HEX_RUN = re.compile(r"[0-9a-fA-F]{128,}")
BUNDLE = ";{}(),!?&|=:"
SCRIPT = re.compile(r"function\s?\w*\(|=>|\bvar \w|\breturn\b|\bthis\.|[\w-]\{[\w-]+:|void 0|!0\b")
ENDS_SAID = re.compile(r".*[.!?][\"')]?\s*$")
