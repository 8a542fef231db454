"""Rendering a real file in a real sandbox, as scoring does."""

import asyncio
from pathlib import Path

import pytest

from environments.renderers.render import RENDER_RESOURCES, Rendered, render
from environments.sandbox.providers import sandbox_provider
from environments.sandbox.workspace import new_workspace


@pytest.fixture
def in_sandbox(tmp_path: Path):
    """Return a function that renders bytes under a file name, optionally under other limits."""
    provider = sandbox_provider("bubblewrap")
    reason = provider.unavailable()
    if reason:
        pytest.skip(reason)

    def run(name: str, content: bytes, **limits: object) -> Rendered:
        async def inside() -> Rendered:
            with new_workspace(tmp_path / "workspaces", {name: content}) as workspace:
                resources = RENDER_RESOURCES.model_copy(update=limits)
                async with provider.open(workspace, resources) as sandbox:
                    return await render(sandbox, name)

        return asyncio.run(inside())

    return run
