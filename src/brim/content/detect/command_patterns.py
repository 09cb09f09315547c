"""Patterns for the output lines of commands, matched from the start of a line."""

# ruff: noqa: E501

from __future__ import annotations

import re

# A commit: its own line, or its hash before the subject, after the lines of a graph.
COMMIT = re.compile(r"(?:[*|\\/_ ]{0,40})?commit [0-9a-f]{7,64}\b")
SUBJECT = re.compile(r"[*|\\/_ ]{0,40}\b(?=[0-9a-f]*[0-9])(?=[0-9a-f]*[a-f])[0-9a-f]{7,40} (?:\([^)]*\) )?\S")
GRAPH = re.compile(r"[*|\\/_ ]+$")

# A search match: path, line and text; or line and text below a path.
MATCH = re.compile(r"(?=[^\s:]{0,300}[A-Za-z])(?:[A-Za-z]:)?[^\s:]{1,300}?(?::(\d+):|(?<=[\w)\]])-(\d+)-)")
# Each part ends where the next one can begin, so that even a line of a hundred thousand dots is read only once.
MATCH_COUNT = re.compile(r"[^\s:][^\s:/.]*[/.][^\s:]+:\d+$")
MATCH_BELOW = re.compile(r"(\d{1,7})[:-](?:\d+:)?")
PATH_ALONE = re.compile(r"[\w@+-]*[/.][\w./@+-]+$")
BLAME = re.compile(r"\^?[0-9a-f]{7,40} (?:\S+ +)?\(?.{0,60}\d+\) ")

# A diagnostic: a place and a message, on one line or on two.
PLACE = r"(?:[A-Za-z]:)?[^\s:()]{1,300}(?::\d+(?::\d+)?|\(\d+(?:,\d+)?\))"
DIAGNOSTIC = re.compile(
    rf"(?:\[\w+\] |\s+)?{PLACE}:? ?-? ?(?:(?:fatal |internal )?(?:error|warning|note|info|Error|Warning|remark)\b|\[?\*?[A-Z]{{1,7}}\d{{2,5}}\b)"
    rf"|{PLACE}: (?:undefined reference|In function|multiple definition|line \d)|{PLACE}:? .{{1,200}}\[(?:\w+/)?[\w-]+\]$"
    r"|[^\s:]{1,200}: line \d+, col \d+, (?:Error|Warning)|(?:PHP )?(?:Parse|Fatal|Compile) error: .{1,300}[ :](?:on line )?\d+$"
    r"|\s*(?:-->|╭─\[?|┌─) ?\S+:\d+|(?:fatal )?(?:error|warning)(?:\[\w+\])?: \S|(?:ERROR|WARNING) in \S|@ \./\S+ \d+:\d+"
    r"|\s+\d+:\d+\s{1,4}(?:error|warning|\[?\*?[A-Z]{1,7}\d{2,5})\b|[A-Z]{1,7}\d{2,5} (?:\[\*\] )?[`A-Z]"
    r"|\[(?:ERROR|WARNING)\] \S+:\[\d+,\d+\]|CMake (?:Error|Warning)|.{0,200}: undefined reference to|collect2: error"
)
# Lines of source that a compiler quotes below its message.
QUOTED_SOURCE = re.compile(r"\s*\d* \|(?:\s|$)|\s*[~^][~^ ]*$")
# The starts of diagnostics, anywhere in a long text.
ERRORS = (": error: ", ": error TS", "\nerror[E", "\nERROR in ", ": fatal error: ", "] ERROR ")
# Progress lines of build tools and installers.
STEP = re.compile(
    r"\s*(?:Compiling|Checking|Downloading|Downloaded|Installing|Linking|Finished|Fresh|Building|Updating|Locking)\b \S"
    r"|make(?:\[\d+\])?: |\s*(?:gcc|g\+\+|clang|cc|c\+\+|ld|ar|javac|rustc)\b.* -\w|\[\s*\d+(?:%|/\d+)\] |ninja: "
    r"|(?:Collecting|Requirement already|Using cached|Successfully|Obtaining|Attempting uninstall|Found existing) ?\w*"
    r"|npm (?:\w+!?) \S|\s*(?:asset|assets|modules|cacheable modules|webpack|runtime modules) \S"
    r"|(?:added|removed|changed|audited|up to date|found) \d* ?\w*|\[INFO\] |\[ERROR\] |\[WARNING\] |> Task :|BUILD "
    r"|-- (?:The|Check|Detecting|Configuring|Generating|Build)|\[(?:wrote|loading|parsing|checking|search|total) .+\]$"
    r"|\s*(?:Finished prerequisites|Considering target|No need to remake|Must remake|Successfully remade|Reaping|Live child"
    r"|Trying (?:pattern|implicit|rule)|Looking for|Reading makefile|Putting child|Removing child|Invoking recipe)\b"
    r"|(?:Looking in|Processing|Running setup|Building wheel|Preparing metadata|Getting requirements) \S|(?:WARNING|ERROR): \S"
    r"|Would (?:install|uninstall)|Uninstalling |Created wheel|Wrote to "
)
SUMMARY = re.compile(
    r"(?:Found )?\d+ (?:errors?|warnings?|problems?)\b|✖ \d+ problem|Found \d+ errors?|webpack .* compiled|\[INFO\] BUILD"
    r"|error: could not compile|\d+ errors?$|Your code has been rated|BUILD (?:FAILED|SUCCESSFUL)|.*compiled with \d+ error"
    r"|warning: `.+` \(.*\) generated \d+ warning|.*\(\d+ error(?:s)?, \d+ warning",
)

# A manual: headings in capitals or with a colon at the margin, and indented options below.
MANUAL_HEADING = re.compile(r"(?:[A-Z][A-Z0-9 ,/&-]{2,40}$|[A-Z][\w ,/'()-]{2,50}:\s*$)")
OPTION = re.compile(r"\s{0,30}-{1,2}[\w?#@]")
USAGE = re.compile(r"\s*(?:usage|Usage|USAGE)\b:?|(?:NAME|SYNOPSIS|DESCRIPTION)$|\S+\(\d\w*\) .*\S+\(\d\w*\)\s*$")

CALL = re.compile(r"\s*(?:\[pid +\d+\] )?(?:[\d:.]+ +)?\w+\(.*(?:\) += |<unfinished|resumed>|\)$)")
STAMP = re.compile(r".{0,60}?\b\d\d?:\d\d:\d\d\b|[*<>{}] |\[\s*\d+\.\d+\]")
PROTOCOL = re.compile(r"[*<>{}] *(?:\S|$)|\{ \[")

KEYED = re.compile(r"\s{0,8}[\w.@][\w .()/@-]{0,40}\s*(?::(?:\s|$)|=\s)")
MACRO = re.compile(r"#\s*(?:include|define|if|ifdef|ifndef|endif|undef|elif)\b")
SHELL = re.compile(r"\s*(?:if \[|fi$|then$|done$|esac$|else$|export \w+=|case .{1,60} in$|\w+=[\"$(]|\. /|for \w+ in )")
DIRECTIVE = re.compile(r"[A-Z]{2,}\b[ \t]+\S")
REQUIRED = re.compile(r"[\w.\[\],-]+ ?(?:==|>=|~=|<=|!=) ?[\d\w]")

# A place with a column and a sentence about it; a path below a message.
REPORT = re.compile(r"[^\s:()]{1,300}\.\w{1,6}:\d+:(?:\d+:)? (?=\S)(?:\S+ ){2,}\S")
ARROW = re.compile(r"\s*(?:-->|╭─\[?|┌─) ?\S+:\d+")
STATUS_PATH = re.compile(r"(?: ?[A-Z?!]{1,2}\d{0,3} {1,2}|[A-Z]\d{0,3}\t|## )\S+(?:\t\S+)?$")
ASSIGNED = re.compile(r"(?:export |declare -x |set |local )?[A-Za-z_][\w.]*=\S?")
EXPLAINED = re.compile(r"\s{1,12}\S.{0,50}?\s{2,}[A-Z(]\w|\s{1,10}[A-Z][a-z]+ .{10,}[.)]$")
UPTIME = re.compile(r".{0,20}\[\s*\d+\.\d{3,}s?\]")
SET = re.compile(r"\s*[\w.\"'-]+ ?= ?[\"'\d\[{tf]")
