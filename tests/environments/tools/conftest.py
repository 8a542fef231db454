"""Fixtures of the tool tests: a workspace, a tool's function over it, a toolbox in a sandbox."""

import asyncio
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from environments.ports import Workspace
from environments.reaper.removal import remove_tree
from environments.sandbox.bubblewrap.provider import Bubblewrap
from environments.tool_runtime.toolbox import Toolbox
from environments.tool_runtime.worker import answer
from taskdata.schema.task import Resources
from taskdata.schema.tool import ToolErrorKind, ToolResult
from taskdata.schema.transcript import ToolCall


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """An empty workspace as the worker sees it."""
    (tmp_path / "input").mkdir()
    (tmp_path / "output").mkdir()
    return tmp_path


@pytest.fixture
def run(workspace: Path) -> Callable[..., ToolResult]:
    """Runs a tool as the worker does, but in this process."""

    def run_tool(tool: str, **arguments: Any) -> ToolResult:
        return answer(tool, arguments, workspace)

    return run_tool


@pytest.fixture
def written(run: Callable[..., ToolResult]) -> Callable[..., ToolResult]:
    """Runs a tool that must succeed and change exactly the file it was asked to write."""

    def run_writer(tool: str, **arguments: Any) -> ToolResult:
        result = run(tool, **arguments)
        assert result.error is None, result.text
        assert result.files == (arguments["path"],)
        return result

    return run_writer


@pytest.fixture
def refused(run: Callable[..., ToolResult]) -> Callable[..., str]:
    """Runs a tool that must say no, and returns what it says."""

    def run_refused(tool: str, **arguments: Any) -> str:
        result = run(tool, **arguments)
        assert result.error is ToolErrorKind.REFUSED, result.text
        return result.text

    return run_refused


@pytest.fixture
def in_sandbox(tmp_path: Path) -> Iterator[Callable[..., list[ToolResult]]]:
    """Makes calls through a toolbox over a real bubblewrap sandbox; returns their results."""
    provider = Bubblewrap()
    reason = provider.unavailable()
    if reason:
        pytest.skip(f"bubblewrap: {reason}")

    def make_calls(
        *calls: tuple[str, dict[str, Any] | None],
        names: Sequence[str] = (),
        files: Mapping[str, bytes] | None = None,
        resources: Resources | None = None,
    ) -> list[ToolResult]:
        workspace = _fill(tmp_path / "trial", files or {})

        async def trial() -> list[ToolResult]:
            async with provider.open(workspace, resources or Resources()) as sandbox:
                return await _call_all(Toolbox(names or [c[0] for c in calls], sandbox), calls)

        return asyncio.run(trial())

    yield make_calls
    # Deeper than pytest's own tidying can go, after some calls.
    remove_tree(tmp_path / "trial")


async def _call_all(
    toolbox: Toolbox, calls: Sequence[tuple[str, dict[str, Any] | None]]
) -> list[ToolResult]:
    return [
        await toolbox.call(ToolCall(id=str(number), tool=tool, arguments=arguments))
        for number, (tool, arguments) in enumerate(calls)
    ]


@pytest.fixture
def made(workspace: Path) -> Callable[..., str]:
    """Lets ffmpeg write input/`name` from its own sources of sound and pictures."""
    from imageio_ffmpeg import get_ffmpeg_exe

    def make(name: str, *options: str) -> str:
        target = workspace / "input" / name
        command = [get_ffmpeg_exe(), "-nostdin", "-v", "error", "-y", *options, str(target)]
        subprocess.run(command, check=True)
        return f"input/{name}"

    return make


def _fill(root: Path, files: Mapping[str, bytes]) -> Workspace:
    workspace = Workspace(root)
    workspace.input.mkdir(parents=True)
    workspace.output.mkdir()
    for name, data in files.items():
        (workspace.input / name).write_bytes(data)
    return workspace
