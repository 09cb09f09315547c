"""Replay: what other budgets and policies would have done to requests that were recorded."""

from __future__ import annotations

from brim.replaying.recorded import Problem, Recorded
from brim.replaying.result import Change, KindUse, Outcome, Replay
from brim.replaying.run import Progress, replay
from brim.replaying.svg import chart

__all__ = ["Change", "KindUse", "Outcome", "Problem", "Progress", "Recorded", "Replay", "chart", "replay"]
