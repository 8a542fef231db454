"""How soon a trial can act: from its being due to an opened sandbox, cold and warm, and its calls.

Warm is a trial of a batch, whose container was started while the trials before it waited for their
models; bubblewrap starts nothing before a program runs, so there is no difference.

`python benchmarks/sandbox_start.py [trials]`
"""

import asyncio
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from environments.ports import SandboxProvider
from environments.reaper.owner import working_folder
from environments.sandbox.providers import PROVIDERS, sandbox_provider
from environments.sandbox.workspace import new_workspace
from taskdata.schema.task import Resources

PROGRAM = ["-c", "print('hello')"]
FILES = {f"data/table{number}.csv": b"a,b\n1,2\n" * 10_000 for number in range(5)}
CALLS = 3
THINKING_SECONDS = 2.0
"""What an agent waits for its model in a short trial; the machine is idle meanwhile."""


@dataclass
class Measured:
    """Seconds of trials that ran one after another."""

    opening: list[float] = field(default_factory=list)
    calls: list[float] = field(default_factory=list)


def without_a_sandbox(calls: int) -> list[float]:
    """Return the seconds of each call."""
    seconds = []
    for _ in range(calls):
        began = time.perf_counter()
        subprocess.run([sys.executable, *PROGRAM], check=True, capture_output=True)
        seconds.append(time.perf_counter() - began)
    return seconds


async def trials(provider: SandboxProvider, count: int, thinking_seconds: float) -> Measured:
    """Run trials: a workspace, a sandbox over it, some calls, and waiting for a model."""
    measured = Measured()
    for _ in range(count):
        due = time.perf_counter()
        with working_folder() as folder, new_workspace(folder, FILES) as workspace:
            async with provider.open(workspace, Resources()) as sandbox:
                measured.opening.append(time.perf_counter() - due)
                for _ in range(CALLS):
                    began = time.perf_counter()
                    await sandbox.run([*sandbox.python(), *PROGRAM])
                    measured.calls.append(time.perf_counter() - began)
                await asyncio.sleep(thinking_seconds)
    return measured


async def cold_and_warm(provider: SandboxProvider, count: int) -> tuple[Measured, Measured]:
    """Return the figures without a pool, and with one that has had time to fill."""
    cold = await trials(provider, count, 0.0)
    async with provider.pooled("benchmark", at_once=1, expected=count):
        await asyncio.sleep(THINKING_SECONDS)
        warm = await trials(provider, count, THINKING_SECONDS)
    return cold, warm


def main() -> None:
    """Print medians in milliseconds, and ratios."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 8
    bare = _median(without_a_sandbox(count * CALLS))
    print(f"{'no sandbox':10}  call {bare:6.1f} ms")
    for name in PROVIDERS:
        provider = sandbox_provider(name)
        reason = provider.unavailable()
        if reason:
            print(f"{name:10}  {reason}")
            continue
        cold, warm = asyncio.run(cold_and_warm(provider, count))
        opening, warm_opening = _median(cold.opening), _median(warm.opening)
        calls = _median(cold.calls)
        print(
            f"{name:10}  call {calls:6.1f} ms ({calls / bare:.1f} x)  due to ready: "
            f"cold {opening:6.1f} ms, warm {warm_opening:6.1f} ms "
            f"({opening / warm_opening:.1f} x), "
            f"warm with the first call {warm_opening + _median(warm.calls):6.1f} ms"
        )


def _median(seconds: Sequence[float]) -> float:
    return statistics.median(seconds) * 1000


if __name__ == "__main__":
    main()
