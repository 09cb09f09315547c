"""Other proxies, started from environments of their own in front of the same upstream."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

LITELLM = """
model_list:
  - model_name: gpt-4o
    litellm_params:
      model: openai/gpt-4o
      api_base: {upstream}/v1
      api_key: bench
"""


# Which provider it is to ask, Portkey reads from headers. All proxies are sent them, so that requests are alike.
HEADERS = {"x-portkey-provider": "openai", "x-portkey-custom-host": "{upstream}/v1"}


def start(name: str, command: str, port: int, upstream: str, folder: Path) -> subprocess.Popen[bytes]:
    """Start a proxy by the path of its command. Example: start("litellm", "/opt/litellm/bin/litellm", …)"""
    home = folder / name
    home.mkdir()
    env = {**os.environ, "HOME": str(home), "LITELLM_LOCAL_MODEL_COST_MAP": "True", "OPENAI_API_KEY": "bench"}
    if name == "litellm":
        env["LITELLM_DANGEROUSLY_PERMIT_WEAK_OR_UNSET_MASTER_KEY"] = "true"  # it listens on loopback only
        config = home / "config.yaml"
        config.write_text(LITELLM.format(upstream=upstream))
        words = [command, "--config", str(config), "--host", "127.0.0.1", "--port", str(port)]
    elif name == "headroom":
        env |= {"OPENAI_TARGET_API_URL": upstream, "HEADROOM_TELEMETRY": "off", "DO_NOT_TRACK": "1"}
        words = [command, "proxy", "--port", str(port), "--no-cache", "--no-rate-limit"]
    elif name == "portkey":
        words = ["node", command, f"--port={port}", "--headless"]
    else:
        raise SystemExit(f"{name!r} is not one of litellm, headroom, portkey")
    with (home / "log").open("wb") as log:
        return subprocess.Popen(words, env=env, cwd=home, stdout=log, stderr=log)
