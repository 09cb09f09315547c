"""Replays recorded requests with other budgets and policies."""

from __future__ import annotations

from brim.replays.recorded import Problem, Recorded
from brim.replays.result import Change, KindUse, Replay, ReplayOutcome
from brim.replays.run import Progress, replay
from brim.replays.svg import chart

__all__ = ["Change", "KindUse", "Problem", "Progress", "Recorded", "Replay", "ReplayOutcome", "chart", "replay"]
