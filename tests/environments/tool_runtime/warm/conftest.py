"""A Python that stays, over a real sandbox, whose calls run whatever code a test likes."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from environments.ports import Completed, Mount, Process, Sandbox, Workspace
from environments.sandbox.mounts import PACKAGES
from environments.sandbox.providers import sandbox_provider
from environments.tool_runtime.warm import python
from environments.tool_runtime.warm.python import WarmPython
from taskdata.schema.task import Resources

Codes = Callable[[str], Awaitable[Completed]]

HOSTILE = "import sys\ndef main():\n    exec(sys.stdin.read(), {})\n"
"""A module of ours that does as it is told, as a tool would that a file has taken over."""

SERVER = "os.getppid()"
"""Pid of the Python that stays, as its calls see it."""


class Taken:
    """A sandbox in which a module of ours is `HOSTILE`; counts what is started and what is run."""

    def __init__(self, sandbox: Sandbox, hostile: Path) -> None:
        self._sandbox = sandbox
        self._mount = Mount(hostile, f"{PACKAGES}/hostile.py")
        self.started: list[Process] = []
        self.ran = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._sandbox, name)

    async def start(self, argv: Sequence[str], *, mounts: Sequence[Mount] = ()) -> Process:
        process = await self._sandbox.start(argv, mounts=(*mounts, self._mount))
        self.started.append(process)
        return process

    async def run(self, argv: Sequence[str], **options: Any) -> Completed:
        self.ran += 1
        return await self._sandbox.run(argv, **options)


EVERYWHERE = pytest.mark.parametrize(
    "provider_name", ["bubblewrap", pytest.param("docker", marks=pytest.mark.docker)]
)
"""Of tests whose subject the providers do in different ways; the others need only one of them."""


@pytest.fixture
def provider_name() -> str:
    return "bubblewrap"


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    workspace = Workspace(tmp_path / "trial")
    workspace.input.mkdir(parents=True)
    workspace.output.mkdir()
    return workspace


@pytest.fixture
def warm(
    provider_name: str, workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., Any]:
    """Open a sandbox under limits, and return what `calling` makes of a Python that stays in it."""
    reason = sandbox_provider(provider_name).unavailable()
    if reason:
        pytest.skip(f"{provider_name}: {reason}")
    monkeypatch.setattr(python, "_LEAST", {"processes": 1, "memory_mb": 1, "cpu_seconds": 1})
    hostile = tmp_path / "hostile.py"
    hostile.write_text(HOSTILE)

    def run(
        calling: Callable[[Codes, Taken], Awaitable[Any]],
        idle_seconds: float = 60.0,
        **limits: object,
    ) -> Any:
        async def inside() -> Any:
            resources = Resources.model_validate(limits)
            opened = sandbox_provider(provider_name).open(workspace, resources, "test")
            async with opened as sandbox:
                taken = Taken(sandbox, hostile)
                served = WarmPython(taken, idle_seconds)
                # A first call in a container is run alone.
                served._calls = 1

                async def call(code: str) -> Completed:
                    return await served.run("hostile", f"import os, sys\n{code}", ())

                return await calling(call, taken)

        return asyncio.run(inside())

    return run


@pytest.fixture
def in_turn(warm: Callable[..., Any]) -> Callable[..., list[Completed]]:
    """Make one call after another, all of which the same Python that stays must serve."""

    def run(*codes: str, **limits: object) -> list[Completed]:
        async def calling(call: Codes, taken: Taken) -> list[Completed]:
            done = [await call(code) for code in codes]
            assert (len(taken.started), taken.ran) == (1, 0)
            return done

        return list(warm(calling, **limits))

    return run
