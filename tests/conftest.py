"""Hypothesis profiles: `default` in every test run, `nightly` (make nightly) with many more examples."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

settings.register_profile("default", max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
settings.register_profile("nightly", max_examples=20_000, deadline=None, suppress_health_check=list(HealthCheck))
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))
