"""What scoring costs: trials with one file and ten check leaves each, over Dask.

Each trial leaves a workbook of its own, as agents do, and every file is rendered once, in a process
of its own in a sandbox that a worker keeps. `--same N` has only N different files, as repetitions
and refinement rounds leave them.

`python benchmarks/scoring.py [--trials 1000] [--leaves 10] [--workers 2] [--same N] [--json]`
"""

import argparse
import io
import json
import resource
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from itertools import islice

from load.planning import new_store, store_run

from flows.config import Settings
from flows.workers.clusters import client
from flows.workers.limits import coordinated
from flows.workers.runners import run_shifts, score_shift
from stages.score import work
from taskdata.schema.agent import AgentSpec
from taskdata.schema.checkpoint import Check, Checkpoint
from taskdata.schema.run import (
    Deliverable,
    OutcomeStatus,
    RunConfig,
    TrialOutcome,
)
from taskdata.schema.task import Capability, Category, DeliverableSpec, DeliverableType, Task, Tier
from taskdata.schema.transcript import Ending
from taskdata.store import Store

FILE = "sales.xlsx"
_REPETITIONS = 50
_SECONDS = 3600.0


@dataclass(frozen=True)
class Cost:
    """Of one run."""

    trials: int
    leaves: int
    files: int
    """Different ones."""
    workers: int
    wall_s: float
    cpu_s: float
    """Of all processes: sandboxes, checks, workers, scheduler, their start included."""
    cpu_ms_per_trial: float


def main() -> None:
    """Print what it cost."""
    options = _options()
    cost = cost_of(options.trials, options.leaves, options.workers, options.same)
    if options.json:
        print(json.dumps(asdict(cost)))
        return
    print(
        f"{cost.trials} trials x {cost.leaves} check leaves, {cost.files} different files, "
        f"{cost.workers} workers: {cost.wall_s:.1f} s, {cost.cpu_s:.1f} s of CPU, "
        f"{cost.cpu_ms_per_trial:.1f} ms of CPU a trial"
    )


def cost_of(trials: int, leaves: int, workers: int, same: int | None) -> Cost:
    """Score a run of so many trials in a store of its own."""
    files = min(trials, same or trials)
    with new_store() as (store, home):
        trial_ids = plan(store, "run", trials, leaves, workers, files)
        settings = Settings(
            home=home,
            database_url=store.address.database_url,
            artifacts_url=store.address.artifacts_url,
        )
        began, used = time.perf_counter(), _cpu_seconds()
        score(store, settings, "run", trial_ids)
        wall, cpu = time.perf_counter() - began, _cpu_seconds() - used
        report = work.report(store, "run", 0, trials)
        if report.done != trials:
            raise SystemExit(f"only {report.done} of {trials} trials were scored: {report.note}")
        roots = [store.score(trial_id) for trial_id in trial_ids]
        if any(root is None or root.root.score != 10 for root in roots):
            raise SystemExit("a right file was not scored 10")
    return Cost(
        trials=trials,
        leaves=leaves,
        files=files,
        workers=workers,
        wall_s=round(wall, 2),
        cpu_s=round(cpu, 2),
        cpu_ms_per_trial=round(cpu / trials * 1000, 2),
    )


def score(store: Store, settings: Settings, run_id: str, trial_ids: Sequence[str]) -> None:
    """Score the trials as the stage does, without a Prefect server around it."""
    run = store.run(run_id)
    with (
        client(settings, run.config.workers) as connected,
        coordinated(connected, settings, run.id, run.config, 0.0) as limits,
    ):
        extra = {"endpoints": {}, "limits": limits, "home": str(settings.home)}
        lines = work.by_judge(store, run_id, trial_ids)
        run_shifts(
            connected,
            score_shift,
            store.address,
            run_id,
            lines,
            extra,
            lambda _: None,
            _SECONDS,
            f"the benchmark ends after {_SECONDS:g} s",
        )


def plan(
    store: Store, run_id: str, trials: int, leaves: int, workers: int, files: int
) -> list[str]:
    """Store a run whose trials have finished and left a file each; return their ids."""
    agent = AgentSpec.parse("nop")
    tasks = [_task(number, leaves) for number in range(-(-trials // _REPETITIONS))]
    release = store.add_release(run_id, tasks, {})
    config = RunConfig(
        bank="benchmark",
        agents=(agent,),
        repetitions=_REPETITIONS,
        refinement_rounds=0,
        workers=workers,
        page_pictures=False,
    )
    now = datetime.now(UTC)
    numbered = ((task, number) for task in tasks for number in range(_REPETITIONS))
    planned = store_run(store, run_id, config, release.hash, islice(numbered, trials))
    made = [_deliverable(store, _workbook(number)) for number in range(files)]
    for number, trial in enumerate(planned):
        store.record_outcome(
            TrialOutcome(
                trial_id=trial.id,
                attempt=1,
                status=OutcomeStatus.FINISHED,
                ending=Ending.FINISHED,
                deliverables=(made[number % files],),
                final_answer="It is in the workbook.",
                sandbox="bubblewrap",
                code_version="benchmark",
                started_at=now,
                finished_at=now,
            )
        )
    return [trial.id for trial in planned]


def _deliverable(store: Store, data: bytes) -> Deliverable:
    return Deliverable(name=FILE, sha256=store.artifacts.put_bytes(data), size_bytes=len(data))


def _task(task: int, leaves: int) -> Task:
    checks = tuple(
        Checkpoint(
            id=f"row-{number}",
            requirement=f"Row {number} is right.",
            verifier=Check(
                name="xlsx_table",
                deliverable=FILE,
                args={
                    "sheet": "Sales",
                    "columns": ["Region", "Units"],
                    "key": "Region",
                    "rows": [[f"Region {number}", 7 * number]],
                },
            ),
        )
        for number in range(leaves)
    )
    return Task(
        id=f"benchmark-{task:05d}",
        tier=Tier.WORKFLOW,
        category=Category.DATA_ANALYSIS,
        capabilities=(Capability.LOGIC,),
        title="Units by region",
        query="Put the units of each region into sales.xlsx.",
        tools=("python_execute",),
        deliverables=(DeliverableSpec(name=FILE, type=DeliverableType.XLSX),),
        checkpoints=Checkpoint(id="root", requirement="It is right.", children=checks),
    )


def _workbook(number: int) -> bytes:
    from openpyxl import Workbook

    book = Workbook()
    book.active.title = "Sales"
    book.active.append(["Region", "Units", "Trial"])
    for row in range(50):
        book.active.append([f"Region {row}", 7 * row, number])
    stream = io.BytesIO()
    book.save(stream)
    return stream.getvalue()


def _cpu_seconds() -> float:
    """Return the CPU time of this process, and of the processes that it ran and that ended."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(part.ru_utime + part.ru_stime for part in used)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--trials", type=int, default=1_000)
    parser.add_argument("--leaves", type=int, default=10, help="check leaves of each trial")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--same", type=int, help="how many different files there are; default: all")
    parser.add_argument("--json", action="store_true", help="print one line of JSON")
    return parser.parse_args()


if __name__ == "__main__":
    main()
