"""What more workers gain, and what one that is slow costs the others, in a whole night.

Each trial calls a tool in a sandbox, where it waits as a program waits for a file or the network:
on a machine with few cores, tools that only compute would show its cores and not the workers. Then
the same night again with a straggler: one trial, and one worker, so many times as slow.

`python benchmarks/workers.py [--trials 60] [--workers 1 3] [--tool-seconds 3] [--slower 50]`
"""

import argparse
import os
import signal
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from load.model_server import model_server
from load.planning import REPETITIONS, agent_of, new_store, plan
from load.processes import Processes, watched
from load.resumed_night import carried_on, serve_once

from taskdata.store import Store

_TOOL = "python_execute"
_SECONDS_BETWEEN_LOOKS = 0.2


@dataclass(frozen=True)
class Case:
    """How a night is done."""

    name: str
    workers: int
    straggler_s: float = 0.0
    """So much longer one trial's first model call takes."""
    slowed: float = 1.0
    """So many times as slow one worker is."""


@dataclass(frozen=True)
class Shared:
    """How the trials of a night were shared."""

    case: Case
    ends_s: tuple[float, ...]
    """When each trial had ended, in order, from the beginning of the first."""
    cpu_s: float
    """Of the workers, up to the end of the night."""

    def all_but(self, count: int) -> float:
        """Return when all trials but the last `count` had ended."""
        return self.ends_s[-1 - count]


def main() -> None:
    """Print what more workers gain, and what stragglers cost."""
    options = _options()
    if options.trials % REPETITIONS:
        raise SystemExit(f"--trials {options.trials}: give a multiple of {REPETITIONS}")
    most = max(options.workers)
    plain = [night_of(Case(f"{workers} workers", workers), options) for workers in options.workers]
    for line in gains(plain):
        print(line, flush=True)
    if not options.slower:
        return
    late = options.tool_seconds * options.slower
    usual = next(night for night in plain if night.case.workers == most)
    one_trial = night_of(Case("a slow trial", most, straggler_s=late), options)
    print(compared(usual, one_trial, 1), flush=True)
    one_worker = night_of(Case("a slow worker", most, slowed=options.slower), options)
    print(compared(usual, one_worker, options.in_flight), flush=True)


def night_of(case: Case, options: argparse.Namespace) -> Shared:
    """Do a night, and return how its trials were shared."""
    code = f"import time; time.sleep({options.tool_seconds}); print('waited')"
    tool = (_TOOL, {"code": code})
    with (
        model_server(0.0, 1, straggler=case.straggler_s, tool=tool) as url,
        new_store() as (store, home),
    ):
        agent = agent_of("openai", url)
        plan(store, "run", agent, options.trials, options.in_flight, case.workers, _TOOL)
        serve_once(home)
        with watched(home) as processes, _slowed(store, processes, case.slowed):
            _, lines = carried_on(
                home, store.address.artifacts_url, "run", used=processes.cpu_seconds
            )
        used = max(line.cpu_s.get("worker", 0.0) for line in lines)
        found = Shared(case, tuple(_ends(store)), used)
    if len(found.ends_s) != options.trials:
        raise SystemExit(f"only {len(found.ends_s)} of {options.trials} trials succeeded")
    print(
        f"{case.name}: all but one had ended after {found.all_but(1):.1f} s, the last after "
        f"{found.all_but(0):.1f} s; workers used {found.cpu_s / options.trials * 1000:.0f} ms of "
        "CPU a trial, with their start",
        flush=True,
    )
    return found


def _ends(store: Store) -> list[float]:
    """Return when each trial whose tool waited had ended, from the beginning of the first."""
    found = [one for one in store.results("run") if one.root_score == 10]
    outcomes = [one.outcome for one in found if one.outcome is not None]
    began = min((outcome.started_at for outcome in outcomes), default=None)
    if began is None:
        return []
    return sorted((outcome.finished_at - began).total_seconds() for outcome in outcomes)


@contextmanager
def _slowed(store: Store, processes: Processes, times: float) -> Iterator[None]:
    """Let one worker run for a part of each second only, from the first trial's end to the last."""
    over = threading.Event()
    slowing = threading.Thread(target=_slow, args=(store, processes, times, over), daemon=True)
    if times > 1:
        slowing.start()
    try:
        yield
    finally:
        over.set()
        if times > 1:
            slowing.join()


def _slow(store: Store, processes: Processes, times: float, over: threading.Event) -> None:
    trials = len(store.trials("run"))
    while len(store.trials_due_for_execution("run", 0)) == trials:
        if over.wait(_SECONDS_BETWEEN_LOOKS):
            return
    worker = processes.of("worker")[0]
    while store.trials_due_for_execution("run", 0) and not over.is_set():
        # Its heartbeats go on: to the scheduler it is slow, and not gone.
        for signalled, seconds in ((signal.SIGSTOP, 1 - 1 / times), (signal.SIGCONT, 1 / times)):
            with suppress(ProcessLookupError):
                os.kill(worker, signalled)
            time.sleep(seconds)


def gains(nights: Sequence[Shared]) -> Iterator[str]:
    """Yield what more workers gained over the fewest."""
    fewest, *others = sorted(nights, key=lambda night: night.case.workers)
    for night in others:
        times = fewest.all_but(0) / night.all_but(0)
        share = times * fewest.case.workers / night.case.workers
        yield (
            f"{night.case.workers} workers are {times:.2f} times as fast as "
            f"{fewest.case.workers}: efficiency {share:.0%}"
        )


def compared(usual: Shared, held: Shared, concerned: int) -> str:
    """Return by when all trials but those of the straggler had ended, with it and without."""
    return (
        f"{held.case.name}: all trials but the last {concerned} had ended after "
        f"{held.all_but(concerned):.1f} s, without it after {usual.all_but(concerned):.1f} s"
    )


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--trials", type=int, default=60)
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 3], help="Dask workers")
    parser.add_argument("--in-flight", type=int, default=4, help="trials in flight in each")
    parser.add_argument("--tool-seconds", type=float, default=3.0, help="what the tool waits")
    parser.add_argument("--slower", type=float, default=50.0, help="of a straggler; 0: none")
    return parser.parse_args()


if __name__ == "__main__":
    main()
