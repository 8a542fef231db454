"""Sandboxes to test: the same contract for every provider that works on this machine."""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import environments
from environments.ports import Completed, SandboxProvider, Workspace
from environments.sandbox.providers import PROVIDERS, sandbox_provider
from environments.sandbox.workspace import new_workspace
from taskdata.schema.task import Resources

RunPython = Callable[..., Completed]


def _available(name: str) -> SandboxProvider:
    provider = sandbox_provider(name)
    reason = provider.unavailable()
    if reason:
        pytest.skip(reason)
    return provider


@pytest.fixture(
    params=[
        pytest.param(name, marks=[pytest.mark.docker] if name == "docker" else [])
        for name in PROVIDERS
    ]
)
def provider(request: pytest.FixtureRequest) -> SandboxProvider:
    return _available(request.param)


@pytest.fixture
def bubblewrap() -> SandboxProvider:
    return _available("bubblewrap")


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    files = {"numbers.csv": b"a,b\n1,2\n", "deep/er/note.txt": b"hello"}
    with new_workspace(tmp_path / "a place with spaces", files) as workspace:
        yield workspace


def run_code(
    provider: SandboxProvider, workspace: Workspace, code: str, stdin: bytes = b"", **limits: object
) -> Completed:
    async def run() -> Completed:
        async with provider.open(workspace, Resources.model_validate(limits), "test") as sandbox:
            return await sandbox.run([*sandbox.python(), "-c", code], stdin=stdin)

    return asyncio.run(run())


@pytest.fixture
def run_python(provider: SandboxProvider, workspace: Workspace) -> RunPython:
    """Run Python code in a sandbox of its own under the given limits."""
    return lambda code, **options: run_code(provider, workspace, code, **options)


@pytest.fixture
def bubblewrapped(bubblewrap: SandboxProvider, workspace: Workspace) -> RunPython:
    return lambda code, **options: run_code(bubblewrap, workspace, code, **options)


OWNER = """
import asyncio, sys
from pathlib import Path
from environments.sandbox.providers import sandbox_provider
from environments.sandbox.workspace import new_workspace
from taskdata.schema.task import Resources

async def main():
    name, code, folder = sys.argv[1:]
    with new_workspace(Path(folder), {}) as workspace:
        async with sandbox_provider(name).open(workspace, Resources()) as sandbox:
            argv = [*sandbox.python(), "-c", code]
            WORK

asyncio.run(main())
"""


@pytest.fixture
def killed_while(
    provider: SandboxProvider, tmp_path: Path, alive: Callable[[str], bool], eventually
) -> Callable[[str, str], str]:
    """Kill a process of ours whose `work` has a Python asleep in a sandbox.

    Returns what the command line of that Python holds, and ours did not.
    """

    def run(work: str, mark: str) -> str:
        nap = f"import time; time.sleep(60)  # orphan-{provider.name}-{mark}"
        ours = subprocess.Popen(
            [sys.executable, "-c", OWNER.replace("WORK", work), provider.name, nap, str(tmp_path)],
            start_new_session=True,
            cwd=Path(environments.__file__).parent.parent,
        )
        # Our own command line holds the code too, so look for the Python inside.
        inside = f"-c\0{nap}"
        try:
            assert eventually(lambda: alive(inside))
        finally:
            os.killpg(ours.pid, signal.SIGKILL)
            ours.wait()
        return inside

    return run
