"""compose.yaml is started as docs/production.md tells, and a small night goes through it.

Images of PostgreSQL and of the S3-compatible store come from a registry; where none can be reached,
stand-ins made of Debian's PostgreSQL and of moto are built, in `compose/` beside this file.
"""

import json
import os
import secrets
import shutil
import subprocess
import time
from pathlib import Path

import httpx
import pytest

from environments.sandbox.providers import sandbox_provider
from tests.ports import free_port
from tests.soak import at_length_only

pytestmark = [
    *(pytest.mark.e2e, pytest.mark.docker, pytest.mark.soak, at_length_only),
    pytest.mark.timeout(3600),
]

ROOT = Path(__file__).resolve().parents[2]
STAND_INS = Path(__file__).with_name("compose")
BASE = "nightshift-base:bookworm-postgresql-git"


def compose_command() -> list[str]:
    """Docker's plugin, or Debian's program."""
    plugin = subprocess.run(["docker", "compose", "version"], capture_output=True, check=False)
    if plugin.returncode == 0:
        return ["docker", "compose"]
    if shutil.which("docker-compose") is None:
        pytest.skip("no Compose; install Debian's `docker-compose`")
    return ["docker-compose"]


@pytest.fixture(scope="module")
def images(tmp_path_factory) -> dict[str, str]:
    """The image of the application, made on a base from the Debian archive, and the stand-ins.

    `NIGHTSHIFT_TEST_IMAGE` names one that is built already.
    """
    if reason := sandbox_provider("docker").unavailable():
        pytest.skip(reason)
    image = os.environ.get("NIGHTSHIFT_TEST_IMAGE")
    if image is None:
        image = "nightshift-test"
        environment = os.environ | {"BASE": "debootstrap", "IMAGE": image}
        subprocess.run([ROOT / "deploy" / "build.sh"], env=environment, check=True)
    context = tmp_path_factory.mktemp("stand-ins")
    shutil.copytree(STAND_INS, context, dirs_exist_ok=True)
    install = [ROOT / "scripts" / "uv", "pip", "install", "--quiet", "--python-version", "3.11"]
    subprocess.run([*install, "--target", context / "moto", "moto[server,s3]"], check=True)
    for target in ("postgres", "s3"):
        options = ["--network", "none", "--build-arg", f"BASE={BASE}", "--target", target]
        tag = ["--tag", f"nightshift-test-{target}", str(context)]
        subprocess.run(["docker", "build", "--quiet", *options, *tag], check=True)
    return {
        "NIGHTSHIFT_IMAGE": image,
        "POSTGRES_IMAGE": "nightshift-test-postgres",
        "S3_IMAGE": "nightshift-test-s3",
    }


class Project:
    """All containers of compose.yaml, with ports and passwords of their own."""

    def __init__(self, folder: Path, images: dict[str, str]) -> None:
        self.prefect, self.dashboards = free_port(), free_port()
        self.password = secrets.token_hex(12)
        given = images | {
            "POSTGRES_PASSWORD": secrets.token_hex(12),
            "S3_SECRET_KEY": secrets.token_hex(12),
            "PREFECT_PASSWORD": self.password,
            "PREFECT_PORT": str(self.prefect),
            "DASHBOARD_PORT": str(self.dashboards),
        }
        file = folder / "env"
        file.write_text("".join(f"{name}={value}\n" for name, value in given.items()))
        name = f"nightshift-test-{secrets.token_hex(3)}"
        self._command = [*compose_command(), "--env-file", str(file), "-p", name]

    def run(self, *words: str, check: bool = True) -> str:
        done = subprocess.run(
            [*self._command, *words], cwd=ROOT, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0 or not check, done.stdout + done.stderr
        return done.stdout

    def nightshift(self, *words: str) -> str:
        return self.run("exec", "-T", "nightshift", "nightshift", *words)

    def ask(self, method: str, path: str, body: object = None) -> dict:
        url, login = f"http://127.0.0.1:{self.prefect}/api/{path}", ("nightshift", self.password)
        return httpx.request(method, url, json=body, auth=login, timeout=60).json()

    def wait(self, what: str, condition, seconds: float = 900):
        ends_at = time.monotonic() + seconds
        while not (found := condition()):
            assert time.monotonic() < ends_at, f"{what}\n{self.run('logs', '--tail=30')}"
            time.sleep(2)
        return found


@pytest.fixture
def project(tmp_path, images):
    made = Project(tmp_path, images)
    try:
        made.run("up", "-d")
        yield made
    finally:
        made.run("down", "-v", "--timeout", "5", check=False)


def test_a_small_night_goes_through_all_containers(project):
    night = project.wait(
        "the deployments",
        lambda: project.ask("GET", "deployments/name/nightly_evaluation/nightly").get("id"),
    )
    changes = {"sample": 1, "refinement_rounds": 0}
    body = {"parameters": {"changes": changes}}
    run = project.ask("POST", f"deployments/{night}/create_flow_run", body)["id"]

    def state():
        found = project.ask("GET", f"flow_runs/{run}")["state"]
        assert found["type"] not in ("FAILED", "CRASHED"), found["message"]
        return found["type"]

    project.wait("the night", lambda: state() == "COMPLETED", 1800)

    agents = json.loads(project.nightshift("results", "--json"))["agents"]
    assert {a["agent"]: (a["root_sr"], a["errors"]) for a in agents} == {
        "reference": (1, 0),
        "nop": (0, 0),
    }
    checks = json.loads(project.nightshift("doctor", "--json"))["checks"]
    states = {check["name"]: check["state"] for check in checks}
    assert states["database"] == "ready: postgresql"
    assert states["artifacts"] == "ready: s3"
    assert states["sandbox bubblewrap"] == "ready"
    assert "2 workers" in states["dask scheduler"]
    address = f"http://localhost:{project.dashboards}"
    assert httpx.get(address, timeout=30).status_code == 401
    login = project.run("exec", "-T", "nightshift", "cat", "/srv/nightshift/login").strip()
    with httpx.Client(auth=tuple(login.split(":", 1)), timeout=30, base_url=address) as browser:
        morning = browser.get("/", follow_redirects=True)
        assert (morning.status_code, morning.url.path) == (200, "/site/index.html")
        assert "dashboard.html" in browser.get("/list.html").text
    anybody = httpx.post(f"http://127.0.0.1:{project.prefect}/api/flow_runs/filter", json={})
    assert anybody.status_code == 401
