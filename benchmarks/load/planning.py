"""A planned run in a new store: many trials of one agent over a bank of small tasks."""

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory

from environments.models.keys import pair_keys
from load.model_server import TOOL
from taskdata.schema.agent import AgentSpec
from taskdata.schema.checkpoint import Checkpoint, ToolResultCheck
from taskdata.schema.run import Run, RunConfig, RunStatus, Trial
from taskdata.schema.task import Capability, Category, InputFile, ObjectiveAnswer, Task, Tier
from taskdata.store import Store, StoreAddress

PROVIDERS = {"openai": "compatible", "anthropic": "anthropic"}
"""Wire format to the provider whose client speaks it."""
_KEYS = {"openai": "COMPATIBLE_API_KEY", "anthropic": "ANTHROPIC_API_KEY"}
REPETITIONS = 20
"""Of each task, where there are as many trials."""
_INPUT = b"region,quarter,units\nnorth,1,1204\nsouth,1,988\n" * 50


@contextmanager
def new_store() -> Iterator[tuple[Store, Path]]:
    """Yield an empty SQLite store and the folder around it; both go with the block."""
    with TemporaryDirectory(prefix="nightshift-benchmark-") as folder:
        address = StoreAddress(
            database_url=f"sqlite:///{folder}/nightshift.db", artifacts_url=f"file://{folder}/files"
        )
        store = Store.open(address)
        try:
            yield store, Path(folder)
        finally:
            store.close()


def agent_of(wire: str, root_url: str) -> AgentSpec:
    """Return the agent that works over that wire format at the server; sets its key."""
    os.environ[_KEYS[wire]] = "sk-benchmark"
    base_url = f"{root_url}/v1" if wire == "openai" else root_url
    pair_keys({PROVIDERS[wire]: [base_url]})
    return AgentSpec.parse(f"function_calling:{PROVIDERS[wire]}/benchmark", base_url=base_url)


def plan(
    store: Store,
    run_id: str,
    agent: AgentSpec,
    trials: int,
    in_flight: int,
    workers: int = 2,
    tool: str = TOOL,
) -> list[str]:
    """Store a run of so many trials, whose tasks allow `tool`, and return their ids."""
    repetitions = min(trials, REPETITIONS)
    sha256 = store.artifacts.put_bytes(_INPUT)
    file = InputFile(path="sales.csv", sha256=sha256, size_bytes=len(_INPUT))
    tasks = [_task(number, file, tool) for number in range(-(-trials // repetitions))]
    release = store.add_release(run_id, tasks, {})
    config = RunConfig(
        bank="benchmark",
        agents=(agent,),
        repetitions=repetitions,
        refinement_rounds=0,
        workers=workers,
        trials_per_worker=in_flight,
    )
    numbered = ((task, number) for task in tasks for number in range(repetitions))
    planned = store_run(store, run_id, config, release.hash, islice(numbered, trials))
    return [trial.id for trial in planned]


def store_run(
    store: Store,
    run_id: str,
    config: RunConfig,
    release_hash: str,
    numbered: Iterable[tuple[Task, int]],
) -> list[Trial]:
    """Store a run of one agent, and plan a trial for each task and number of a repetition."""
    store.add_run(
        Run(
            id=run_id,
            status=RunStatus.RUNNING,
            config=config,
            release_hash=release_hash,
            code_version="benchmark",
            created_at=datetime.now(UTC),
        )
    )
    (agent,) = config.agents
    planned = [
        Trial(
            id=Trial.make_id(run_id, agent.name, task.id, repetition, 0),
            run_id=run_id,
            agent=agent.name,
            task_id=task.id,
            task_hash=task.content_hash,
            tier=task.tier,
            category=task.category,
            repetition=repetition,
            round=0,
        )
        for task, repetition in numbered
    ]
    store.plan_trials(planned)
    return planned


def _task(number: int, file: InputFile, tool: str) -> Task:
    leaf = Checkpoint(
        id="waited",
        requirement="It waited.",
        verifier=ToolResultCheck(tools=(tool,), contains=("waited",)),
    )
    return Task(
        id=f"benchmark-{number:05d}",
        tier=Tier.ATOMIC,
        category=list(Category)[number % len(Category)],
        capabilities=(Capability.OPERATION,),
        title=f"Wait for {number} machines",
        query=f"Wait ten times, for {number} machines, then say that you are done. " * 5,
        files=(file,),
        tools=(tool,),
        answer=ObjectiveAnswer(whitelist=(("done",),)),
        checkpoints=Checkpoint(id="root", requirement="The work was done.", children=(leaf,)),
    )
