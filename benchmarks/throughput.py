"""What the execute stage costs beside its models: wall time against the bound, CPU, memory.

The reference work is 200 trials of 11 model calls (10 tool turns and a final answer), each answered
after 0.2 s by a local server, at most 100 trials in flight, all in this one process. Latency alone
sets the bound. Transcripts, usage and outcomes go to a store as in any run. What is measured
follows one trial for warming up: a worker imports an SDK once, not once a run.

`python benchmarks/throughput.py [--json] [--provider anthropic] [--peer inspect] [--soak]`
"""

import argparse
import json
import resource
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from load.model_server import TOOL_SECONDS, model_server
from load.planning import agent_of, new_store, plan

from stages.execute import work
from taskdata.schema.run import OutcomeStatus, TrialOutcome
from taskdata.store import Store

_PEER = Path(__file__).parent / "load" / "inspect_agent.py"
_MEGABYTE = 2**20


@dataclass(frozen=True)
class Load:
    """What is to be done."""

    wire: str
    trials: int
    in_flight: int
    latency: float
    turns: int

    @property
    def calls(self) -> int:
        """Model calls in all."""
        return self.trials * (self.turns + 1)

    @property
    def bound(self) -> float:
        """Seconds that latency alone takes."""
        return self.calls * self.latency / min(self.trials, self.in_flight)


@dataclass(frozen=True)
class Measured:
    """What it took; `overhead` is of one trial, beside its model calls and tools."""

    trials: int
    calls: int
    wall_s: float
    bound_s: float
    cpu_ms_per_call: float
    overhead_p50_ms: float
    overhead_p95_ms: float
    peak_mb: float
    mb_per_trial_in_flight: float


def main() -> None:
    """Print what was measured."""
    options = _options()
    if options.soak:
        options.trials, options.in_flight = max(options.trials, 5_000), max(options.in_flight, 200)
    load = Load(options.provider, options.trials, options.in_flight, options.latency, options.turns)
    with model_server(load.latency, load.turns) as url:
        measured, grown = measure(url, load)
        peer = _peer(url, load, options.peer_python) if options.peer else {}
    if options.json:
        print(json.dumps(_rounded(asdict(measured) | {"peer_wall_s": peer.get("wall_s")} | grown)))
        return
    _show(measured, grown, peer)


def measure(url: str, load: Load) -> tuple[Measured, dict[str, float]]:
    """Do the work; return what it took, and megabytes by how much was done when it is long."""
    with new_store() as (store, home):
        agent = agent_of(load.wire, url)
        plan(store, "warm-up", agent, 1, 1)
        work.do(store, "warm-up", 0, home)
        trial_ids = plan(store, "reference-work", agent, load.trials, load.in_flight)
        base = _resident_mb()
        with _watched() as watched:
            began, used = time.perf_counter(), _cpu_seconds()
            report = work.do(store, "reference-work", 0, home)
            wall, cpu = time.perf_counter() - began, _cpu_seconds() - used
        if report.done != load.trials:
            raise SystemExit(f"only {report.done} of {load.trials} trials finished: {report.note}")
        overheads = [_overhead_ms(outcome, load) for outcome in _outcomes(store, trial_ids)]
    cuts = statistics.quantiles(overheads, n=20) if len(overheads) > 1 else overheads * 19
    peak = max(watched.megabytes)
    measured = Measured(
        trials=load.trials,
        calls=load.calls,
        wall_s=wall,
        bound_s=load.bound,
        cpu_ms_per_call=cpu / load.calls * 1000,
        overhead_p50_ms=cuts[9],
        overhead_p95_ms=cuts[18],
        peak_mb=peak,
        mb_per_trial_in_flight=(peak - base) / min(load.trials, load.in_flight),
    )
    return measured, watched.by_fifths()


def _outcomes(store: Store, trial_ids: Sequence[str]) -> Iterator[TrialOutcome]:
    for trial_id in trial_ids:
        outcome = store.outcome(trial_id)
        if outcome is None or outcome.status is not OutcomeStatus.FINISHED:
            raise SystemExit(f"trial {trial_id} has not finished: {outcome}")
        yield outcome


def _overhead_ms(outcome: TrialOutcome, load: Load) -> float:
    """Return the milliseconds of a trial, from its start to its outcome, that are our own."""
    if (outcome.turns, outcome.tool_calls) != (load.turns + 1, load.turns):
        raise SystemExit(f"trial {outcome.trial_id} took {outcome.turns} turns")
    whole = (outcome.finished_at - outcome.started_at).total_seconds()
    return (whole - outcome.turns * load.latency - outcome.tool_calls * TOOL_SECONDS) * 1000


class _Watch:
    """Looks at this process's memory while the work goes on."""

    def __init__(self) -> None:
        self.megabytes: list[float] = [_resident_mb()]
        self._ended = threading.Event()

    def run(self) -> None:
        while not self._ended.wait(0.05):
            self.megabytes.append(_resident_mb())

    def end(self) -> None:
        self._ended.set()

    def by_fifths(self) -> dict[str, float]:
        """Return the most megabytes within each fifth of the time."""
        size = max(1, len(self.megabytes) // 5)
        parts = [self.megabytes[at * size : (at + 1) * size] for at in range(5)]
        return {f"fifth_{at}_mb": max(part) for at, part in enumerate(parts, 1) if part}


@contextmanager
def _watched() -> Iterator[_Watch]:
    watch = _Watch()
    thread = threading.Thread(target=watch.run)
    thread.start()
    try:
        yield watch
    finally:
        watch.end()
        thread.join()


def _resident_mb() -> float:
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * resource.getpagesize() / _MEGABYTE


def _cpu_seconds() -> float:
    """Return the CPU time of this process, and of the programs that it ran and that ended."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(part.ru_utime + part.ru_stime for part in used)


def _peer(url: str, load: Load, interpreter: str | None) -> dict[str, Any]:
    """Return what inspect-ai took for the same work; nothing where it is not installed."""
    if interpreter is None and find_spec("inspect_ai") is None:
        print(
            "inspect-ai is not installed: name an interpreter that has it with --peer-python",
            file=sys.stderr,
        )
        return {}
    command = [interpreter or sys.executable, str(_PEER), url, load.wire]
    done = subprocess.run(
        [*command, str(load.trials), str(load.in_flight)],
        capture_output=True,
        check=False,
        text=True,
    )
    if done.returncode != 0:
        raise SystemExit(f"the peer failed:\n{done.stderr or done.stdout}")
    taken: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return taken


def _show(measured: Measured, grown: dict[str, float], peer: dict[str, Any]) -> None:
    ratio = measured.wall_s / measured.bound_s if measured.bound_s else float("inf")
    print(
        f"{measured.trials} trials, {measured.calls} model calls\n"
        f"wall      {measured.wall_s:8.2f} s   bound {measured.bound_s:.2f} s ({ratio:.2f} x)\n"
        f"CPU       {measured.cpu_ms_per_call:8.2f} ms a model call\n"
        f"overhead  {measured.overhead_p50_ms:8.1f} ms a trial at p50, "
        f"{measured.overhead_p95_ms:.1f} ms at p95\n"
        f"memory    {measured.peak_mb:8.1f} MB at most, "
        f"{measured.mb_per_trial_in_flight:.2f} MB per trial in flight"
    )
    print("          " + ", ".join(f"{mb:.1f}" for mb in grown.values()) + " MB by fifths of time")
    if peer:
        print(
            f"inspect   {peer['wall_s']:8.2f} s ({peer['wall_s'] / measured.wall_s:.1f} x), "
            f"CPU {peer['cpu_s'] / measured.calls * 1000:.2f} ms a call, {peer['peak_mb']:.0f} MB"
        )


def _rounded(facts: dict[str, Any]) -> dict[str, Any]:
    return {key: round(v, 3) if isinstance(v, float) else v for key, v in facts.items()}


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--trials", type=int, default=200)
    parser.add_argument("--in-flight", type=int, default=100)
    parser.add_argument("--latency", type=float, default=0.2, help="seconds of each model call")
    parser.add_argument("--turns", type=int, default=10, help="tool calls of a trial")
    parser.add_argument("--provider", choices=("openai", "anthropic"), default="openai")
    parser.add_argument("--peer", choices=("inspect",), help="do the same work with inspect-ai")
    parser.add_argument("--peer-python", help="an interpreter that has inspect-ai")
    parser.add_argument("--soak", action="store_true", help="5,000 trials, 200 in flight")
    parser.add_argument("--json", action="store_true", help="print one line of JSON")
    return parser.parse_args()


if __name__ == "__main__":
    main()
