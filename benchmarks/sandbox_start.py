"""How long a one-line Python program takes in each sandbox, beside the same program without one.

`python benchmarks/sandbox_start.py [calls]`
"""

import asyncio
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from environments.ports import SandboxProvider
from environments.sandbox.providers import PROVIDERS, sandbox_provider
from environments.sandbox.workspace import new_workspace
from taskdata.schema.task import Resources

PROGRAM = ["-c", "print('hello')"]


def without_a_sandbox(calls: int) -> list[float]:
    """Return the seconds of each call."""
    seconds = []
    for _ in range(calls):
        began = time.perf_counter()
        subprocess.run([sys.executable, *PROGRAM], check=True, capture_output=True)
        seconds.append(time.perf_counter() - began)
    return seconds


async def in_a_sandbox(provider: SandboxProvider, calls: int) -> tuple[float, list[float]]:
    """Return the seconds to open a sandbox, and those of each call in it."""
    with (
        tempfile.TemporaryDirectory() as folder,
        new_workspace(Path(folder), {}) as workspace,
    ):
        began = time.perf_counter()
        async with provider.open(workspace, Resources()) as sandbox:
            opening = time.perf_counter() - began
            seconds = []
            for _ in range(calls):
                began = time.perf_counter()
                await sandbox.run([*sandbox.python(), *PROGRAM])
                seconds.append(time.perf_counter() - began)
    return opening, seconds


def main() -> None:
    """Print the median of each, and its ratio to the bare program's."""
    calls = int(sys.argv[1]) if len(sys.argv) > 1 else 40
    bare = statistics.median(without_a_sandbox(calls))
    print(f"{'no sandbox':12} call p50 {bare * 1000:7.1f} ms")
    for name in PROVIDERS:
        provider = sandbox_provider(name)
        reason = provider.unavailable()
        if reason:
            print(f"{name:12} {reason}")
            continue
        opening, seconds = asyncio.run(in_a_sandbox(provider, calls))
        median = statistics.median(seconds)
        print(
            f"{name:12} call p50 {median * 1000:7.1f} ms ({median / bare:.1f} x), "
            f"open {opening * 1000:.1f} ms"
        )


if __name__ == "__main__":
    main()
