"""Whole nights through the command itself, and a browser to look at them with."""

import fcntl
import io
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import chdir, contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from types import SimpleNamespace
from unittest import mock

import httpx
import pytest
from tenacity import Retrying, retry_if_result, stop_after_delay, wait_fixed

from flows.cli.app import main
from flows.serving.server_process import USERS
from taskdata.private_files import private_folder
from tests.e2e.secrets import login_of

SMALLEST = "react:local/smollm2-135m"
NIGHTSHIFT = [sys.executable, "-m", "flows.cli.app"]


def clean_environment(home: Path) -> dict[str, str]:
    """The environment of a user with nothing configured, but no pictures of pages.

    LibreOffice takes a few seconds for each file, and tests of its own hold that.
    """
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("NIGHTSHIFT_", "PREFECT_", "OPENAI_API", "ANTHROPIC_"))
    }
    return kept | {
        "NIGHTSHIFT_HOME": str(home),
        "NIGHTSHIFT_RUN": '{"page_pictures": false}',
        "CANARY_API_KEY": "canary-b7f3a1",
    }


def run_command(
    home: Path, *arguments: str, timeout: float = 420, cwd: Path | None = None
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*NIGHTSHIFT, *arguments],
        env=clean_environment(home),
        cwd=cwd or home.parent,
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )


def run_here(home: Path, *arguments: str, cwd: Path | None = None) -> SimpleNamespace:
    """Run the command in this process, which has the imports already; for reading commands."""
    said, complained, code = io.StringIO(), io.StringIO(), 0
    with (
        mock.patch.dict(os.environ, clean_environment(home), clear=True),
        mock.patch.object(sys, "argv", ["nightshift", *arguments]),
        chdir(cwd or home.parent),
        redirect_stdout(said),
        redirect_stderr(complained),
    ):
        try:
            main()
        except SystemExit as exc:
            code = exc.code or 0
    return SimpleNamespace(returncode=code, stdout=said.getvalue(), stderr=complained.getvalue())


def read_json(home: Path, *arguments: str) -> dict:
    done = run_here(home, *arguments, "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@contextmanager
def shared_server(home: Path) -> Iterator[None]:
    """Have the commands of the block find the Prefect server that the first of them starts.

    The block is one more user of the server, which ends with the last one.
    """
    for folder in (home, home / "prefect"):
        private_folder(folder)
    with (home / "prefect" / USERS).open("a") as users:
        fcntl.flock(users, fcntl.LOCK_SH)
        yield


@pytest.fixture(scope="session")
def command():
    """The ways tests use the command: run it, have it read something, read its JSON, start it."""
    return SimpleNamespace(
        run=run_command,
        here=run_here,
        read=read_json,
        argv=NIGHTSHIFT,
        environment=clean_environment,
    )


def until_taken(ask, seconds=60):
    """Return the answer to `ask`, which is asked again while the server answers 503.

    Prefect answers so where two wrote to SQLite at once, and its own clients ask again.
    """
    return Retrying(
        retry=retry_if_result(lambda reply: reply.status_code == 503),
        wait=wait_fixed(0.5),
        stop=stop_after_delay(seconds),
        retry_error_callback=lambda state: state.outcome.result(),
    )(ask)


class Api:
    """The few calls of Prefect's REST API that a person's clicks do not cover."""

    def __init__(self, url="", home=None):
        self.url = url
        self.home = home

    @property
    def login(self):
        """User and password of the server."""
        return login_of(self.home)

    def post(self, path, body):
        return self._answered("POST", path, json=body)

    def get(self, path):
        return self._answered("GET", path)

    def _answered(self, method, path, **sent):
        url = f"{self.url}/api/{path}"
        reply = until_taken(lambda: httpx.request(method, url, auth=self.login, timeout=30, **sent))
        return reply.raise_for_status().json()

    def runs_of(self, flow):
        return self.post("flow_runs/filter", {"flows": {"name": {"any_": [flow]}}})

    def state_of(self, flow):
        runs = self.runs_of(flow)
        return runs[0]["state"]["type"] if runs else None

    def wait(self, what, condition, seconds):
        """Return what `condition` finds, or fail the test."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            found = condition()
            if found:
                return found
            time.sleep(0.3)
        return pytest.fail(f"{what}: not within {seconds} s")


ROOT = Path(__file__).resolve().parents[2]
SEEDS = ROOT / "taskdata" / "seeds"


@contextmanager
def scripted_model_at(port: int) -> Iterator[str]:
    """The scripted model of the documented run on a port of this machine; yields its base URL."""
    server = subprocess.Popen(
        [sys.executable, "-m", "examples.scripted_model", "--port", str(port)],
        cwd=ROOT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        Api().wait("the scripted model", lambda: is_open(port), 60)
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        server.terminate()
        server.wait(timeout=30)


def is_open(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


@pytest.fixture(scope="session")
def scripted_model() -> Iterator[str]:
    """Base URL of the scripted model."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with scripted_model_at(port) as url:
        yield url


@pytest.fixture(scope="module")
def documented_model() -> Iterator[str]:
    """The scripted model where docs/task-bank.md has it."""
    with scripted_model_at(8765) as url:
        yield url


@pytest.fixture
def seed_rows(tmp_path: Path):
    """Write the first rows of a seed file of the documented run; returns its path."""

    def write(name: str, rows: int) -> Path:
        lines = (SEEDS / name).read_text().splitlines(keepends=True)
        chosen = tmp_path / name
        chosen.write_text("".join(lines[: rows + 1]))
        return chosen

    return write


CHANGES_A_RUN = re.compile(r"/api/flow_runs/[^/]+/(set_state|resume)$")

DEPLOYMENTS = 21
"""The night, the refresh, and each of their stages."""


@pytest.fixture
def serving(command):
    """Serve a home with such a `nightshift.toml`; the block gets Prefect's API once it is up."""

    @contextmanager
    def serve(home: Path, settings: str, port: int, **variables: str) -> Iterator[Api]:
        (home.parent / "nightshift.toml").write_text(settings)
        server = subprocess.Popen(
            [*command.argv, "serve"],
            env=command.environment(home) | {"NIGHTSHIFT_PREFECT_PORT": str(port)} | variables,
            cwd=home.parent,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        lines: list[str] = []
        threading.Thread(target=lambda: lines.extend(server.stdout), daemon=True).start()
        try:
            api = Api(home=home)
            found = api.wait(
                "the server's address",
                lambda: re.findall(r"Prefect UI: (\S+)", "".join(lines)),
                180,
            )
            api.url = found[0]
            api.wait(
                "the deployments",
                lambda: len(api.post("deployments/filter", {})) == DEPLOYMENTS,
                120,
            )
            yield api
        finally:
            server.terminate()
            server.wait(timeout=60)

    return serve


@pytest.fixture(scope="session")
def night(tmp_path_factory: pytest.TempPathFactory, command) -> SimpleNamespace:
    """One real night: three agents, a workflow task and an atomic one, one refinement round."""
    home = tmp_path_factory.mktemp("a night") / "home"
    listed = command.read(home, "bank", "list")["tasks"]
    atomic = [t["id"] for t in listed if t["tier"] == "atomic"][:1]
    workflow = [t["id"] for t in listed if t["tier"] == "workflow"][:1]
    tasks = [part for task in atomic + workflow for part in ("--task", task)]
    # This model is always installed, unlike the default. Its replies are short to save CPU time.
    budget = "{max_turns = 1, max_reply_tokens = 64, max_seconds = 240}"
    small = f'{{name = "{SMALLEST}", temperature = 0.0, budget = {budget}}}'
    agents = f'agents = ["reference", "nop", {small}]'
    (home.parent / "nightshift.toml").write_text(f"[run]\n{agents}\n")
    done = command.run(home, "run", *tasks)
    assert done.returncode == 0, done.stdout + done.stderr
    return SimpleNamespace(home=home, output=done.stdout, tasks=atomic + workflow)


@pytest.fixture(scope="module")
def browser() -> Iterator[object]:
    """Headless Chromium from the system.

    Not for the session: Playwright keeps an event loop running as long as it is open, in which
    other modules' `asyncio.run` would be refused.
    """
    from playwright.sync_api import sync_playwright

    path = shutil.which("chromium") or shutil.which("chromium-browser")
    if path is None:
        pytest.skip("no Chromium on the PATH; install Debian's `chromium`")
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(
            executable_path=path,
            args=[
                "--no-sandbox",
                "--disable-gpu",
                "--disable-quic",
                "--no-first-run",
                "--disable-background-networking",
                "--disable-component-update",
                "--disable-sync",
            ],
        )
        yield running
        running.close()


@pytest.fixture(scope="module")
def click_until_taken(browser):
    """Click through to a change of a run on a page of the Prefect UI, as a person would.

    The page draws itself anew whenever it has asked for the run, and then loses what was clicked
    or filled in just before; where the server is busy, it may ask for the login again. A person
    sees that and begins again, too: each try opens the page, signs in and makes the clicks.
    """
    from playwright.sync_api import TimeoutError as NothingHappened

    def sign_in(page, api: Api, path: str) -> None:
        page.goto(api.url + path)
        page.get_by_placeholder("admin:pass").fill(":".join(api.login))
        page.get_by_role("button", name="Login").click()
        page.wait_for_url(lambda url: "/login" not in url)
        page.goto(api.url + path)

    def click(api: Api, path: str, clicks: Callable[..., None]) -> None:
        def changed():
            with browser.new_page() as page:
                try:
                    sign_in(page, api, path)
                    page.set_default_timeout(10_000)
                    with page.expect_response(CHANGES_A_RUN) as answer:
                        clicks(page)
                except NothingHappened:
                    return SimpleNamespace(status_code=503)
                return SimpleNamespace(status_code=answer.value.status)

        assert until_taken(changed, seconds=180).status_code < 300

    return click
