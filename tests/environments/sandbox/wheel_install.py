"""Run by test_bubblewrap within another environment: looks for its banks inside a sandbox."""

import asyncio
import tempfile
from pathlib import Path

import taskdata
from environments.sandbox.providers import sandbox_provider
from environments.sandbox.workspace import new_workspace
from taskdata.schema.task import Resources


async def main() -> None:
    banks = Path(taskdata.__file__).parent / "banks"
    look = f"import os; print(os.listdir({str(banks)!r}))"
    with (
        tempfile.TemporaryDirectory() as folder,
        new_workspace(Path(folder), {}) as workspace,
    ):
        async with sandbox_provider("bubblewrap").open(workspace, Resources()) as sandbox:
            done = await sandbox.run([*sandbox.python(), "-c", look])
    assert (banks / "starter" / "solution.yaml").exists()
    print("site-packages" in str(banks), done.stdout.decode().strip())  # noqa: T201


asyncio.run(main())
