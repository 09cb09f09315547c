"""The files of deploy/: each is read by the program that it is for, where that is installed, or by a parser."""

from __future__ import annotations

import getpass
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from brim import settings
from brim.settings import Settings

ROOT = Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "deploy"
SESSIONS = "x-brim-session x-claude-code-session-id thread-id session-id x-session-id x-conversation-id".split()
CREDENTIALS = "authorization x-api-key x-goog-api-key".split()

LINTERS = dict.fromkeys(("hadolint", "check-jsonschema", "kubernetes-validate"), "make deployment installs it")
LINTERS["systemd-analyze"] = "apt-get install systemd"


def checked(name: str, *words: str, **env: str) -> str:
    """What a program says of a file; skipped where it is not installed."""
    program = shutil.which(name) or shutil.which(name, path="/usr/sbin:/sbin")
    if program is None:
        pytest.skip(f"{name} is not installed: {LINTERS.get(name) or f'apt-get install {name}'}")
    done = subprocess.run(
        [program, *words], capture_output=True, text=True, check=False, timeout=60, env={**os.environ, **env}
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def loaded(file: Path, **env: str) -> Settings:
    """Settings that a gateway would run by, or BadSetting."""
    return settings.load(file, env)


def compose() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
    return found


def manifests() -> dict[str, dict[str, Any]]:
    return {found["kind"]: found for found in yaml.safe_load_all((DEPLOY / "kubernetes/brim.yaml").read_text())}


def container() -> dict[str, Any]:
    found: dict[str, Any] = manifests()["Deployment"]["spec"]["template"]["spec"]["containers"][0]
    return found


def instructions() -> list[tuple[str, str]]:
    """The Dockerfile. Example: "USER 1" -> ("USER", "1")"""
    text = (DEPLOY / "Dockerfile").read_text().replace("\\\n", " ")
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    return [(word, rest) for word, _, rest in (line.partition(" ") for line in lines)]


def test_haproxy_accepts_its_configuration() -> None:
    checked("haproxy", "-c", "-f", str(DEPLOY / "haproxy/haproxy.cfg"), BRIM_HAPROXY_USER=getpass.getuser())


def test_nginx_accepts_its_configuration(tmp_path: Path) -> None:
    (tmp_path / "brim.conf").write_text(
        (DEPLOY / "nginx/brim.conf").read_text().replace("/var/log/nginx", f"{tmp_path}")
    )
    places = " ".join(
        f"{kind}_temp_path {tmp_path / kind};" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    whole = f"pid {tmp_path}/pid; error_log stderr; events {{}} http {{ {places} include {tmp_path}/brim.conf; }}"
    (tmp_path / "nginx.conf").write_text(whole)
    checked("nginx", "-t", "-p", str(tmp_path), "-c", str(tmp_path / "nginx.conf"))


def test_linters_find_nothing_in_the_files_of_containers() -> None:
    checked("hadolint", str(DEPLOY / "Dockerfile"))
    checked("check-jsonschema", "--builtin-schema", "vendor.compose-spec", str(DEPLOY / "compose.yaml"))
    checked("kubernetes-validate", "--strict", str(DEPLOY / "kubernetes/brim.yaml"))


@pytest.mark.parametrize("file", ["haproxy/haproxy.cfg", "nginx/brim.conf"])
def test_balancers_route_by_the_conversation_and_then_by_the_credential(file: str) -> None:
    text = (DEPLOY / file).read_text().lower()
    spelt = [name if file.startswith("haproxy") else name.replace("-", "_") for name in (*SESSIONS, *CREDENTIALS)]
    found = [re.search(rf"(?:req\.hdr\(|\$http_){name}\b", text) for name in spelt]
    places = [one.start() for one in found if one is not None]
    assert len(places) == len(spelt)
    assert places == sorted(places)
    assert re.search(r"hash-type consistent|hash \$brim_route consistent", text)


def test_systemd_accepts_the_unit_and_finds_little_that_it_may_do(tmp_path: Path) -> None:
    program = Path(sys.executable).parent / "brim"
    if not program.is_file():
        pytest.skip("brim is not installed as a command here: pip install -e '.[all,dev]'")
    unit = tmp_path / "brim@8801.service"
    unit.write_text((DEPLOY / "systemd/brim@.service").read_text().replace("/opt/brim/bin/brim", str(program)))
    assert "brim@8801" not in checked("systemd-analyze", "verify", str(unit))
    checked("systemd-analyze", "security", "--offline=yes", "--threshold=20", str(unit))


def test_nobody_is_listened_to_from_outside_unless_a_file_says_so_with_a_token() -> None:
    assert loaded(DEPLOY / "brim.toml").gateway.host == "127.0.0.1"
    assert 'bind "${BRIM_BIND-127.0.0.1:' in (DEPLOY / "haproxy/haproxy.cfg").read_text()
    assert re.findall(r"listen (\S+);", (DEPLOY / "nginx/brim.conf").read_text()) == ["127.0.0.1:8787"]
    ports = [port for service in compose()["services"].values() for port in service.get("ports", ())]
    assert [port.rpartition(":")[0].partition(":")[0] for port in ports] == ["127.0.0.1"]
    assert manifests()["Service"]["spec"]["type"] == "ClusterIP"


def test_the_gateways_of_compose_are_set_up_as_brim_reads_it() -> None:
    services = compose()["services"]
    for name in ("gateway-1", "gateway-2"):
        service = services[name]
        found = loaded(DEPLOY / "brim.toml", **service["environment"])
        assert (found.gateway.host, found.gateway.access_token_env) == ("0.0.0.0", "BRIM_TOKEN")
        assert service["environment"]["BRIM_STORE_ADDRESS_ENV"] == "DATABASE_URL"
        assert service["read_only"] is True
        assert service["cap_drop"] == ["ALL"]
        assert int(service["stop_grace_period"].removesuffix("s")) > found.gateway.shutdown_grace
        assert services["haproxy"]["environment"][f"BRIM_{name.upper().replace('-', '_')}"] == f"{name}:8787"
        # What these settings need beside the core is in the image.
        assert service["environment"]["BRIM_STORE_CACHE"].startswith("valkey://")
    installed = next(rest for word, rest in instructions() if word == "RUN" and "pip install" in rest)
    assert set(re.findall(r"\.\[([\w,]+)\]", installed)[0].split(",")) == {"gateway", "postgres", "valkey"}
    assert compose()["networks"]["store"]["internal"] is True
    assert services["haproxy"]["networks"] == ["clients"]


def test_no_file_holds_a_secret() -> None:
    for name, service in compose()["services"].items():
        for variable, value in service.get("environment", {}).items():
            if re.search("PASSWORD|TOKEN$|KEY", variable) and not variable.endswith("_ENV"):
                assert re.fullmatch(r"\$\{[A-Z_]+:\?.*\}", value), f"{name}: {variable}"
    for one in container()["env"]:
        assert one["valueFrom"]["secretKeyRef"]["name"] == "brim"
    assert "Secret" not in manifests()
    for file in filter(Path.is_file, DEPLOY.rglob("*")):
        assert not re.search(r"://[^\s/:@]+:[^\s/@]+@|\bsk-[A-Za-z0-9]{8}", file.read_text()), file


def test_kubernetes_takes_a_gateway_out_before_it_ends_and_never_all_at_once(tmp_path: Path) -> None:
    found = manifests()
    assert sorted(found) == ["ConfigMap", "Deployment", "PodDisruptionBudget", "Service"]
    spec = found["Deployment"]["spec"]
    pod = spec["template"]["spec"]
    (tmp_path / "brim.toml").write_text(found["ConfigMap"]["data"]["brim.toml"])
    grace = loaded(tmp_path / "brim.toml").gateway.shutdown_grace
    wait = int(container()["lifecycle"]["preStop"]["exec"]["command"][1])
    assert pod["terminationGracePeriodSeconds"] > grace + wait
    assert container()["readinessProbe"]["httpGet"]["path"] == "/readyz"
    assert container()["livenessProbe"]["httpGet"]["path"] == "/healthz"
    assert spec["strategy"]["rollingUpdate"]["maxUnavailable"] == 0
    assert found["PodDisruptionBudget"]["spec"]["minAvailable"] == spec["replicas"] - 1 == 1
    labels = spec["template"]["metadata"]["labels"]
    for kind in ("Service", "PodDisruptionBudget"):
        selector = found[kind]["spec"]["selector"]
        assert selector.get("matchLabels", selector) == labels
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert container()["securityContext"]["readOnlyRootFilesystem"] is True
    mounted = {one["name"] for one in container()["volumeMounts"]}
    assert mounted == {one["name"] for one in pod["volumes"]}


def test_the_image_runs_as_nobody_in_particular_and_is_made_of_files_that_are_here() -> None:
    found = instructions()
    assert [rest for word, rest in found if word == "USER"] == ["10001:10001"]
    for word, rest in found:
        if word == "COPY" and not rest.startswith("--from"):
            for source in rest.split()[:-1]:
                assert (ROOT / source).exists(), source
    said = next(rest for word, rest in found if word == "HEALTHCHECK")
    assert "/healthz" in json.loads(said[said.index("[") :])[2]
    assert json.loads(next(rest for word, rest in found if word == "CMD")) == [
        "serve",
        "--config",
        "/etc/brim/brim.toml",
    ]
    assert container()["args"] == ["serve", "--config", "/etc/brim/brim.toml"]
