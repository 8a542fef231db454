"""Whole nights through the command itself, and a browser to look at them with."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

NIGHTSHIFT = [sys.executable, "-m", "flows.cli.app"]


def clean_environment(home: Path) -> dict[str, str]:
    """The environment of a user with nothing configured."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("NIGHTSHIFT_", "PREFECT_", "OPENAI_API", "ANTHROPIC_"))
    }
    return kept | {"NIGHTSHIFT_HOME": str(home), "CANARY_API_KEY": "canary-b7f3a1"}


def run_command(
    home: Path, *arguments: str, timeout: float = 420
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*NIGHTSHIFT, *arguments],
        env=clean_environment(home),
        cwd=home.parent,
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )


def read_json(home: Path, *arguments: str) -> dict:
    done = run_command(home, *arguments, "--json", timeout=60)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="session")
def command():
    """The three ways tests use the command: run it, read its JSON, start it."""
    return SimpleNamespace(
        run=run_command, read=read_json, argv=NIGHTSHIFT, environment=clean_environment
    )


@pytest.fixture(scope="session")
def night(tmp_path_factory: pytest.TempPathFactory, command) -> SimpleNamespace:
    """One real night: three agents, a workflow task and two atomic ones, one refinement round."""
    home = tmp_path_factory.mktemp("a night") / "home"
    listed = command.read(home, "bank", "list")["tasks"]
    atomic = [t["id"] for t in listed if t["tier"] == "atomic"][:2]
    workflow = [t["id"] for t in listed if t["tier"] == "workflow"][:1]
    tasks = [part for task in atomic + workflow for part in ("--task", task)]
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
