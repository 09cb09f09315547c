"""Allowances per period of time, in the form people write them."""

from __future__ import annotations

import math
import re
from calendar import timegm
from dataclasses import dataclass
from time import gmtime, strftime
from typing import Final

from brim.errors import BadSetting

_WRITTEN: Final = re.compile(r"(\d+(?:\.\d+)?)([kMG]?)/(minute|hour|day|month)")
_TIMES: Final = {"": 1, "k": 1_000, "M": 1_000_000, "G": 1_000_000_000}
# A time format that is the same for all moments of a period.
_SLOTS: Final = {"minute": "%Y%m%dT%H%M", "hour": "%Y%m%dT%H", "day": "%Y%m%d", "month": "%Y%m"}
_SECONDS: Final = {"minute": 60, "hour": 3_600, "day": 86_400}


@dataclass(frozen=True, slots=True)
class Allowance:
    """A maximum per minute, hour, day or month in UTC."""

    most: int
    period: str

    def __str__(self) -> str:
        return f"{self.most}/{self.period}"

    def slot(self, at: float) -> str:
        """The name of the period that contains a moment. Example: a day of 2026-11-18 -> "20261118" """
        return strftime(_SLOTS[self.period], gmtime(at))

    def seconds_left(self, at: float) -> int:
        """Whole seconds until the next period, at least one."""
        if self.period != "month":
            return max(1, math.ceil(_SECONDS[self.period] - at % _SECONDS[self.period]))
        now = gmtime(at)
        year, month = (now.tm_year + 1, 1) if now.tm_mon == 12 else (now.tm_year, now.tm_mon + 1)
        return max(1, math.ceil(timegm((year, month, 1, 0, 0, 0)) - at))


def allowance(text: str, name: str) -> Allowance:
    """Parse an allowance; BadSetting with this name if it is invalid. Example: "5M/month" -> 5,000,000 in a month"""
    found = _WRITTEN.fullmatch(text.strip())
    most = int(float(found[1]) * _TIMES[found[2]]) if found else 0
    if found is None or most < 1:
        raise BadSetting(name, f"{text!r} is no amount in a time: write it like 5M/month, 200k/day or 60/minute")
    return Allowance(most, found[3])
