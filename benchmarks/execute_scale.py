"""What a trial costs the execute stage as runs grow, and how soon a large run goes on.

Trials whose model answers at once, with nothing to do but to answer: what is left is orchestration
(and one model call a trial). The cost of a trial must not depend on how many there are. Then a run
of which all but a few trials have finished is prepared and executed again, as `--resume` does.

`python benchmarks/execute_scale.py [--trials 1000 2000 5000 10000] [--plot FILE] [--json]`; with
`--command` only the largest run, resumed by `nightshift run --resume` itself until it asks the
model (`--whole`: until all is done).
"""

import argparse
import json
import re
import resource
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from load.model_server import model_server
from load.planning import agent_of, new_store, plan
from load.resumed_night import Line, carried_on, noting_server, serve_once

from flows.gates import hold_gate
from flows.summaries import summary_of
from stages.execute import work
from stages.prepare import work as preparing
from taskdata.store import Store

IN_FLIGHT = 50
_STAGE = re.compile(r"(?P<name>[a-z ]+): .*done.* in (?P<seconds>\d+\.\d) s")
LEFT = 100
"""Trials of the resumed run that have not finished."""


@dataclass(frozen=True)
class Cost:
    """Of one run; a trial's share of it, its one model call included."""

    trials: int
    wall_ms_per_trial: float
    cpu_ms_per_trial: float
    resident_mb: float


@dataclass(frozen=True)
class Resumed:
    """Seconds until a run goes on of which so many trials have finished."""

    finished: int
    prepare_s: float
    first_trial_s: float
    """From the call to the start of the first trial, preparation included."""
    summary_s: float
    """For the numbers of the whole run, as `results` prints them."""


@dataclass(frozen=True)
class Night:
    """Of `nightshift run --resume`, in seconds from its start."""

    finished: int
    command_s: float
    """Until it turns to the Prefect server."""
    server_s: float
    """Until that is up, and the workers with it."""
    gate_s: float
    """Until the first stage, the gate of the tasks, has begun."""
    planned_s: float
    """Until the gate of the tasks was held and the trials are planned."""
    first_call_s: float
    """Until a model was asked for one of the trials that were left."""
    stages: dict[str, float]
    """What each stage took by itself, as far as it got."""
    whole_s: float
    """Until the command ended."""


def main() -> None:
    """Print a line per run, and one for the resumed run."""
    options = _options()
    if options.command:
        night = resume_by_command(max(options.trials), options.whole)
        print(json.dumps(asdict(night)) if options.json else _described(night))
        return
    with model_server(0.0, 0) as url:
        with new_store() as (store, home):
            _execute(store, home, url, "warm-up", 20)
        costs = [cost_of(url, trials) for trials in options.trials]
        resumed = resume(url, max(options.trials))
    if options.plot:
        draw(costs, options.plot)
    if options.json:
        print(json.dumps({"costs": [asdict(c) for c in costs], "resumed": asdict(resumed)}))
        return
    for cost in costs:
        print(
            f"{cost.trials:6} trials  {cost.wall_ms_per_trial:6.2f} ms a trial, "
            f"{cost.cpu_ms_per_trial:.2f} ms of CPU  {cost.resident_mb:6.1f} MB"
        )
    print(
        f"resumed with {resumed.finished} finished: prepared in {resumed.prepare_s:.2f} s, first "
        f"trial after {resumed.first_trial_s:.2f} s; summary in {resumed.summary_s:.2f} s"
    )


def cost_of(url: str, trials: int) -> Cost:
    """Execute a run of so many trials in a store of its own."""
    with new_store() as (store, home):
        wall, cpu = _execute(store, home, url, "run", trials)
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return Cost(
        trials=trials,
        wall_ms_per_trial=round(wall / trials * 1000, 3),
        cpu_ms_per_trial=round(cpu / trials * 1000, 3),
        resident_mb=round(pages * resource.getpagesize() / 2**20, 1),
    )


def _execute(store: Store, home: Path, url: str, run_id: str, trials: int) -> tuple[float, float]:
    """Return the seconds of wall and CPU time of the whole stage."""
    plan(store, run_id, agent_of("openai", url), trials, IN_FLIGHT)
    began, used = time.perf_counter(), _cpu_seconds()
    report = work.do(store, run_id, 0, home)
    taken = time.perf_counter() - began, _cpu_seconds() - used
    if report.done != trials:
        raise SystemExit(f"only {report.done} of {trials} trials finished: {report.note}")
    return taken


def resume(url: str, finished: int) -> Resumed:
    """Finish that many trials of a run, then time how soon it goes on with the others."""
    with new_store() as (store, home):
        trial_ids = plan(store, "run", agent_of("openai", url), finished + LEFT, IN_FLIGHT)
        work.execute_trials(store, "run", trial_ids[:finished], {}, home)
        began, began_at = time.perf_counter(), time.time()
        preparing.do(store, "run")
        prepared = time.perf_counter() - began
        work.do(store, "run", 0, home)
        outcomes = [store.outcome(trial_id) for trial_id in trial_ids[finished:]]
        starts = [outcome.started_at.timestamp() for outcome in outcomes if outcome is not None]
        began = time.perf_counter()
        summary_of(store, "run")
        summed = time.perf_counter() - began
    return Resumed(
        finished=finished,
        prepare_s=round(prepared, 3),
        first_trial_s=round(min(starts) - began_at, 3),
        summary_s=round(summed, 3),
    )


def resume_by_command(finished: int, whole: bool) -> Night:
    """Finish that many trials of a run, then time the command that begins, or does, the others.

    The gate of the tasks has held, as it has in a run that was interrupted; only code that has not
    changed since, all of it committed, believes it.
    """
    with noting_server() as server, new_store() as (store, folder):
        trials = plan(store, "run", agent_of("openai", server.url), finished + LEFT, IN_FLIGHT)
        work.execute_trials(store, "run", trials[:finished], {}, folder)
        hold_gate(store, "run", "tasks")
        server.asked.clear()
        server.was_asked.clear()
        serve_once(folder)
        until = None if whole else server.was_asked
        began, lines = carried_on(folder, store.address.artifacts_url, "run", until)
        first = min(server.asked) - began
    found = [_STAGE.match(line.text) for line in lines]
    took = {stage["name"]: float(stage["seconds"]) for stage in found if stage is not None}
    gate = _at(lines, "gate tasks: done") - took["gate tasks"]
    return Night(
        finished=finished,
        command_s=_at(lines, "Starting the local Prefect server"),
        server_s=_at(lines, "Prefect UI:"),
        gate_s=round(gate, 1),
        planned_s=_at(lines, "prepare:"),
        first_call_s=round(first, 1),
        stages=took,
        whole_s=round(lines[-1].at, 1),
    )


def _at(lines: Sequence[Line], beginning: str) -> float:
    return round(next(line.at for line in lines if line.text.startswith(beginning)), 1)


def _described(night: Night) -> str:
    stages = ", ".join(f"{stage} {seconds:.1f}" for stage, seconds in night.stages.items())
    return (
        f"resumed by the command with {night.finished} finished: Prefect asked for after "
        f"{night.command_s} s and up with the workers after {night.server_s} s, first stage after "
        f"{night.gate_s} s, trials planned after {night.planned_s} s, first call after "
        f"{night.first_call_s} s, all done after {night.whole_s} s\nseconds by stage: {stages}"
    )


def draw(costs: Sequence[Cost], file: Path) -> None:
    """Write a plot of the cost of a trial against the number of trials."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6, 3.2), layout="constrained")
    axes = figure.subplots()
    trials = [cost.trials for cost in costs]
    axes.plot(trials, [c.wall_ms_per_trial for c in costs], "o-", label="wall time")
    axes.plot(trials, [c.cpu_ms_per_trial for c in costs], "s--", label="CPU time")
    axes.set_xlabel("trials in the run")
    axes.set_ylabel("ms per trial")
    axes.set_ylim(bottom=0)
    axes.set_xlim(left=0)
    axes.grid(alpha=0.3)
    axes.legend(loc="lower right")
    figure.savefig(file)


def _cpu_seconds() -> float:
    """Return the CPU time of this process, and of the programs that it ran and that ended."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(part.ru_utime + part.ru_stime for part in used)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    sizes = (1_000, 2_000, 5_000, 10_000)
    parser.add_argument("--trials", type=int, nargs="+", default=sizes, help="sizes of the runs")
    parser.add_argument("--plot", type=Path, help="write the cost per trial there, such as .svg")
    parser.add_argument(
        "--command", action="store_true", help="resume the largest run by the command itself"
    )
    parser.add_argument(
        "--whole", action="store_true", help="let that command finish the whole night"
    )
    parser.add_argument("--json", action="store_true", help="print one line of JSON")
    return parser.parse_args()


if __name__ == "__main__":
    main()
