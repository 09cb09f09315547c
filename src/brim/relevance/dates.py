"""Parses dates as people write them, and rates how near an entry's date is to one in a question."""

from __future__ import annotations

import re
from datetime import date
from typing import NamedTuple

_MONTHS = {
    name: number
    for number, names in enumerate(
        "january jan,february feb,march mar,april apr,may,june jun,july jul,august aug,september sept sep,"
        "october oct,november nov,december dec".split(","),
        start=1,
    )
    for name in names.split()
}
_NAMES = "|".join(sorted((name.capitalize() for name in _MONTHS), key=len, reverse=True))
_DAY = r"([0-3]?\d)(?:st|nd|rd|th)?"
_WRITTEN = re.compile(rf"(?:\b{_DAY} (?:of )?)?\b({_NAMES})\b\.?(?: {_DAY}\b(?!:))?(?:,? ((?:19|20)\d\d)\b)?")
_ISO = re.compile(r"\b((?:19|20)\d\d)-(\d\d)-(\d\d)(?:\b|T)")
# Because of "May I" and "March on", a bare month only counts after a word that makes it a time.
_BEFORE_MONTH = re.compile(r"\b(?:in|of|during|since|until|by|before|after|last|next|this|early|late|mid)[ -]$", re.I)


class Date(NamedTuple):
    """A date whose year or day may be unknown."""

    year: int | None
    month: int
    day: int | None


def dates_in(text: str) -> list[Date]:
    """The dates that `text` names.

    Example: "on 3 June or in May 2023" -> [Date(None, 6, 3), Date(2023, 5, None)]
    """
    out = []
    for year, month, day in _ISO.findall(text):
        if 1 <= int(month) <= 12 and 1 <= int(day) <= 31:
            out.append(Date(int(year), int(month), int(day)))
    for found in _WRITTEN.finditer(text):
        before, month, after, year = found.groups()
        day = before or after
        if day or year or _BEFORE_MONTH.search(text, max(0, found.start() - 8), found.start()):
            out.append(Date(int(year) if year else None, _MONTHS[month.lower()], int(day) if day else None))
    return out


def day_number(when: str) -> int:
    """The day that `when` names, as a number of days; 0 if it names none.

    Example: "1:56 pm on 8 May, 2023" -> 738648
    """
    for year, month, day in dates_in(when):
        if year and day:
            return _ordinal(year, month, day)
    return 0


def nearness(asked: Date, number: int) -> float:
    """How likely it is that an entry of day `number` is about `asked`: 1 on the day, half in the days after it.

    People talk about events when they happen or soon after. A month is near all of its days.
    """
    if not number:
        return 0.0
    told = date.fromordinal(number)
    if asked.day is None:
        return 0.5 if told.month == asked.month and asked.year in (None, told.year) else 0.0
    late = number - _ordinal(asked.year or told.year, asked.month, asked.day)
    return 1.0 if 0 <= late <= 1 else 0.5 if 1 < late <= 10 else 0.0


def _ordinal(year: int, month: int, day: int) -> int:
    # Day 31 of a shorter month overflows into the next one, because a typo shouldn't be an error.
    return date(year, month, 1).toordinal() + min(max(day, 1), 31) - 1
