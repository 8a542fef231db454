"""How long the history of a store takes to load, to compare, and to make again from its runs.

`python benchmarks/history.py [--nights 60] [--trials 1667] [--json]`

The default is a store of 100,000 trials over 60 nights. The trials are synthesised and inserted in
bulk: nothing was run. The limits are 10 s for a night (its own, the history before it loaded, the
comparison) and 60 s for making all nights of the store from their trials.
"""

import argparse
import json
import resource
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import sqlalchemy as sa
from load.planning import new_store
from sqlmodel import SQLModel

from flows.history import night_of_run, record_night, take_in
from taskdata.schema.agent import AgentSpec
from taskdata.schema.checkpoint import Check, Checkpoint
from taskdata.schema.run import Run, RunConfig, RunStatus, Trial
from taskdata.schema.scores import LeafScore, NodeScore
from taskdata.schema.task import Capability, Category, Task, Tier
from taskdata.store import Store

AGENTS = tuple(AgentSpec.parse(f"react:openai/benchmark-{i}") for i in range(4))
LEAVES = 6
START = datetime(2026, 1, 1, 2, tzinfo=UTC)


def parsed() -> argparse.Namespace:
    """Return the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nights", type=int, default=60)
    parser.add_argument("--trials", type=int, default=1667, help="of each night")
    parser.add_argument("--json", action="store_true")
    return parser.parse_args()


def tasks_of(count: int) -> list[Task]:
    """Return so many tasks, each with a tree of some leaves."""
    leaves = tuple(
        Checkpoint(
            id=f"leaf-{i}",
            requirement=f"Requirement {i} of the task holds, as far as can be seen.",
            verifier=Check(name="answer_number", args={"expected": i}),
        )
        for i in range(LEAVES)
    )
    return [
        Task(
            id=f"task-{number:04d}",
            tier=Tier.WORKFLOW,
            category=list(Category)[number % len(Category)],
            capabilities=(Capability.LOGIC,),
            title=f"Task {number}",
            query="Please do what is to be done, and say so. " * 10,
            tools=("finish",),
            checkpoints=Checkpoint(id="root", requirement="All holds.", children=leaves),
        )
        for number in range(count)
    ]


def fill(store: Store, nights: int, trials: int) -> list[str]:
    """Store so many completed runs in bulk; return their ids."""
    random = np.random.default_rng(1)
    tasks = tasks_of(-(-trials // len(AGENTS)))
    release = store.add_release("benchmark", tasks, {})
    hashes = [task.content_hash for task in tasks]
    pairs = [(a, t) for t in range(len(tasks)) for a in range(len(AGENTS))][:trials]
    skill = 10 * random.beta(0.8, 0.6, (len(AGENTS), len(tasks)))
    ids = []
    for number in range(nights):
        began = START + timedelta(days=number)
        run = Run(
            id=f"night-{number:03d}",
            status=RunStatus.COMPLETED,
            config=RunConfig(bank="benchmark", agents=AGENTS, refinement_rounds=0),
            release_hash=release.hash,
            code_version="benchmark",
            created_at=began,
            finished_at=began + timedelta(hours=3),
        )
        store.add_run(run)
        ids.append(run.id)
        rows: dict[str, list[dict[str, Any]]] = {
            name: [] for name in ("trial", "outcome", "trial_score", "diagnosis")
        }
        for a, t in pairs:
            score = float(np.clip(skill[a, t] + random.normal(0, 2), 0, 10))
            add_trial(rows, run, AGENTS[a].name, tasks[t], hashes[t], score, began)
        insert(store, rows)
    return ids


def add_trial(
    rows: dict[str, list[dict[str, Any]]],
    run: Run,
    agent: str,
    task: Task,
    task_hash: str,
    score: float,
    at: datetime,
) -> None:
    """Add the rows of one finished, scored and diagnosed trial."""
    trial_id = Trial.make_id(run.id, agent, task.id, 0, 0)
    rows["trial"].append(
        {
            "id": trial_id,
            "run_id": run.id,
            "agent": agent,
            "task_id": task.id,
            "task_hash": task_hash,
            "tier": task.tier.value,
            "category": task.category.value,
            "repetition": 0,
            "round": 0,
        }
    )
    usage = dict.fromkeys(("cached_input_tokens", "cache_write_tokens", "reasoning_tokens"), 0)
    rows["outcome"].append(
        {
            "trial_id": trial_id,
            "attempt": 1,
            "status": "finished",
            "ending": "finished",
            "final_answer": "It is done. " * 20,
            "rejected_files": [],
            "input_tokens": 20_000,
            "output_tokens": 1_000,
            "cost_usd": 0.02,
            "wall_seconds": 30.0,
            "turns": 8,
            "tool_calls": 10,
            "tool_errors": 1,
            "model_id": "benchmark-2026",
            "sandbox": "bubblewrap",
            "code_version": "benchmark",
            "started_at": at,
            "finished_at": at,
            **usage,
        }
    )
    rows["trial_score"].append(
        {
            "trial_id": trial_id,
            "root_score": score,
            "coverage": 1.0,
            "tree": tree(score),
            "scorer_version": "1",
            "scored_at": at,
        }
    )
    failed = score <= 7
    rows["diagnosis"].append(
        {
            "trial_id": trial_id,
            "stage": "execute" if failed else None,
            "type": "data_extraction" if failed else None,
            "leaf_level": failed,
            "composition_level": False,
            "deliverable_level": False,
            "evidence": ["A check did not hold."],
            "labeller": "rules@1",
            "diagnosed_at": at,
        }
    )


def tree(score: float) -> dict[str, Any]:
    """Return the score tree of a trial whose leaves all have that score."""
    leaves = tuple(
        NodeScore(
            id=f"leaf-{i}",
            requirement=f"Requirement {i} of the task holds, as far as can be seen.",
            weight=1,
            score=score,
            coverage=1,
            leaf=LeafScore(
                leaf_id=f"leaf-{i}",
                score=score,
                verifier="check:answer_number@1",
                reason="What was found is compared with what was expected, in a sentence.",
            ),
        )
        for i in range(LEAVES)
    )
    root = NodeScore(
        id="root", requirement="All holds.", weight=1, score=score, coverage=1, children=leaves
    )
    return root.model_dump(mode="json")


def insert(store: Store, rows: dict[str, list[dict[str, Any]]]) -> None:
    """Insert rows, table by table."""
    with store._plainly_writing() as connection:  # there is no public way in for bulk
        for name, values in rows.items():
            connection.execute(sa.insert(SQLModel.metadata.tables[name]), values)


@contextmanager
def timed(figures: dict[str, float], name: str) -> Iterator[None]:
    """Note the seconds of wall clock and of CPU that the block takes."""
    wall, cpu = time.monotonic(), time.process_time()
    yield
    figures[f"{name}_s"] = round(time.monotonic() - wall, 2)
    figures[f"{name}_cpu_s"] = round(time.process_time() - cpu, 2)


def measured(store: Store, ids: Sequence[str], say: Callable[[str], None]) -> dict[str, float]:
    """Return the figures of a store with these runs."""
    figures: dict[str, float] = {}
    with timed(figures, "all_nights_from_scratch"):
        take_in(store)
    say("all nights made")
    with timed(figures, "load_history"):
        loaded = list(store.nights())
    figures["nights"] = len(loaded)
    figures["cells"] = sum(len(night.cells) for night in loaded)
    with timed(figures, "night_of_the_last_run"):
        night_of_run(store, ids[-1])
    with timed(figures, "add_a_night"):
        record_night(store, ids[-1])
    figures["peak_mb"] = round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
    return figures


def main() -> None:
    """Fill a store, measure, and print."""
    options = parsed()
    say: Callable[[str], None] = (lambda _: None) if options.json else print
    with new_store() as (store, _folder):
        ids = fill(store, options.nights, options.trials)
        say(f"{options.nights} nights of {options.trials} trials stored")
        figures = measured(store, ids, say)
    if options.json:
        print(json.dumps(figures))
        return
    for name, value in figures.items():
        print(f"{name:32} {value:>10}")


if __name__ == "__main__":
    main()
