"""Hypothesis profiles: `default` in every test run, `nightly` (make nightly) with many more examples.

Planning has all the time it wants, unless a test gives it a limit: on a busy machine the plain planner would take over.
"""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

from brim import fallback

fallback.FIT_TIMEOUT = 600.0  # before the modules that take it as their default are imported
settings.register_profile("default", max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
settings.register_profile("nightly", max_examples=20_000, deadline=None, suppress_health_check=list(HealthCheck))
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))
