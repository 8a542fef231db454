"""Why a run's first attempts failed, as the CLI and the pages tell it."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from taskdata.schema.run import Run, TrialResult
from taskdata.schema.task import Task
from taskdata.store import Store

if TYPE_CHECKING:
    from quality.breakdowns.failures import CountedTrial
    from quality.clusters.grouping import Alike
    from taskdata.schema.failures import RunFailures


def failures_of(
    store: Store,
    run: Run,
    results: Sequence[TrialResult] | None = None,
    tasks: Mapping[str, Task] | None = None,
) -> "RunFailures":
    """Return why the first attempts of a run failed.

    Args:
        store: Where the run is.
        run: The run.
        results: Of its trials, of all rounds; None: they are read from the store.
        tasks: Its tasks by content hash; None: they are read from the store.
    """
    from quality.breakdowns.failures import failures_by_group, groups_of_agents, groups_of_tasks
    from quality.clusters.grouping import failure_clusters
    from taskdata.garbage import collected_after
    from taskdata.schema.failures import RunFailures

    with collected_after():
        results = store.results(run.id, 0) if results is None else results
        tasks = store.tasks_of_run(run.id) if tasks is None else tasks
        first = [result for result in results if result.trial.round == 0]
        trials = _counted(first, tasks, run.config.threshold)
        failed_levels = {
            one.result.trial.id: tuple(level for level, rate in one.requirements.items() if rate.n)
            for one in trials
        }
        names = [agent.name for agent in run.config.agents]
        agents, of_tasks = groups_of_agents(run.config.agents), groups_of_tasks(tasks.values())
        controls = [name for name in names if name not in agents]
        return RunFailures(
            clusters=failure_clusters(first, tasks, without=controls, alike=compared_by_meaning),
            groups=failures_by_group(trials, names, agents, of_tasks),
            failed_levels={trial: failed for trial, failed in failed_levels.items() if failed},
            agents=agents,
            tasks=of_tasks,
        )


def _counted(
    first: Sequence[TrialResult], tasks: Mapping[str, Task], threshold: float
) -> "list[CountedTrial]":
    from quality.breakdowns.failures import counted
    from stages.diagnose.infrastructure import infrastructure_label
    from stages.diagnose.levels import requirement_level

    levels = {
        (task_hash, leaf.id): requirement_level(leaf)
        for task_hash, task in tasks.items()
        for leaf in task.checkpoints.leaves()
    }
    found = {result.trial.id: infrastructure_label(result) for result in first}
    lost_to = {trial: label.name for trial, label in found.items() if label is not None}
    return counted(
        first, lost_to, lambda task_hash, leaf_id: levels.get((task_hash, leaf_id)), threshold
    )


def compared_by_meaning() -> "Alike | None":
    """Return what compares two texts in meaning; None where the extra for it is not installed."""
    from quality.encoders.choosing import find_minilm
    from quality.encoders.encoder import Similarity

    encoder = find_minilm()
    return None if encoder is None else Similarity(encoder)
