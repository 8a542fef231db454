"""Sandboxes to test: the same contract for every provider that works on this machine."""

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

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
