"""The same work done by inspect-ai: its own tool loop over the same server, one process.

`python inspect_agent.py URL WIRE TRIALS IN_FLIGHT` prints one line of JSON; it needs nothing of
Nightshift, so that it can run under an interpreter that has inspect-ai and not us.
"""

import json
import os
import resource
import sys
import tempfile
import time

from inspect_ai import Task, eval
from inspect_ai.dataset import Sample
from inspect_ai.solver import generate, use_tools
from inspect_ai.tool import Tool, tool


@tool(name="sleep")
def waiting() -> Tool:
    """Return the tool that the server asks for."""

    async def execute(seconds: float) -> str:
        """Wait for some seconds, when something outside needs time.

        Args:
            seconds: How long to wait.
        """
        import asyncio

        await asyncio.sleep(seconds)
        return f"Waited {seconds:g} s."

    return execute


def work(url: str, wire: str, trials: int, in_flight: int) -> float:
    """Return the seconds that so many conversations took."""
    provider = {"openai": "openai/gpt-4o", "anthropic": "anthropic/claude-sonnet-4-0"}[wire]
    # Chat completions, and whole answers: what the server speaks, and what Nightshift asks for.
    extra = {"openai": {"responses_api": False}, "anthropic": {"streaming": False}}[wire]
    samples = [Sample(input=f"Wait ten times, for {number} machines.") for number in range(trials)]
    task = Task(dataset=samples, solver=[use_tools(waiting()), generate()])
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as logs:
        (log,) = eval(
            task,
            model=provider,
            model_base_url=f"{url}/v1" if wire == "openai" else url,
            model_args=extra,
            max_connections=in_flight,
            max_samples=in_flight,
            max_tokens=4096,
            display="none",
            log_dir=logs,
        )
    seconds = time.perf_counter() - began
    if log.status != "success" or log.results is None:
        raise SystemExit(f"inspect-ai ended with {log.status}: {log.error}")
    if log.results.completed_samples != trials:
        raise SystemExit(f"inspect-ai finished {log.results.completed_samples} of {trials} samples")
    return seconds


def main() -> None:
    """Warm up with one conversation, then measure."""
    url, wire, trials, in_flight = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    os.environ |= {"OPENAI_API_KEY": "sk-benchmark", "ANTHROPIC_API_KEY": "sk-benchmark"}
    work(url, wire, 1, 1)
    before = resource.getrusage(resource.RUSAGE_SELF)
    seconds = work(url, wire, trials, in_flight)
    after = resource.getrusage(resource.RUSAGE_SELF)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    print(json.dumps({"wall_s": seconds, "cpu_s": cpu, "peak_mb": after.ru_maxrss / 1024}))


if __name__ == "__main__":
    main()
