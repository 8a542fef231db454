"""Which leaves a person is asked to score, and in which order."""

import random
from collections.abc import Sequence
from dataclasses import dataclass

from taskdata.errors import Misuse
from taskdata.schema.checkpoint import Checkpoint, Judge
from taskdata.schema.run import OutcomeStatus, Run, TrialResult
from taskdata.schema.task import Task
from taskdata.store import Store


@dataclass(frozen=True)
class Question:
    """One leaf of one trial."""

    result: TrialResult
    task: Task
    leaf: Checkpoint

    @property
    def key(self) -> tuple[str, str]:
        """Ids of trial and leaf."""
        return self.result.trial.id, self.leaf.id


def questions(
    store: Store, run: Run, annotator: str, agents: Sequence[str] = (), *, all_leaves: bool = False
) -> list[Question]:
    """Return the leaves of the first attempts of a run that `annotator` is asked about.

    Trials come in an order of chance that is the annotator's own and always the same, and so do
    the leaves within a trial, so that what was delivered is looked at once.

    Args:
        store: Where the run is.
        run: The run.
        annotator: Who is asked.
        agents: Only outputs of these; empty: of all that compete, or of the controls where nobody
            does.
        all_leaves: Whether leaves that code verifies are asked about, too.

    Raises:
        Misuse: if an agent is unknown, or there is nothing to ask.
    """
    chosen = chosen_agents(run, agents)
    tasks = store.tasks_of_run(run.id)
    results = [
        result
        for result in store.results(run.id, round_=0)
        if result.trial.agent in chosen
        and result.outcome is not None
        and result.outcome.status is OutcomeStatus.FINISHED
    ]
    results.sort(key=lambda result: result.trial.id)
    order = random.Random(f"{run.id}\n{annotator}")  # noqa: S311 - no secret
    order.shuffle(results)
    found: list[Question] = []
    for result in results:
        task = tasks[result.trial.task_hash]
        leaves = [
            leaf
            for leaf in task.checkpoints.leaves()
            if all_leaves or isinstance(leaf.verifier, Judge)
        ]
        order.shuffle(leaves)
        found += [Question(result, task, leaf) for leaf in leaves]
    if not found:
        raise Misuse(
            f"run {run.id} has no finished trial with leaves that need judgement; --all-leaves "
            "asks about those that code verifies, too"
        )
    return found


def chosen_agents(run: Run, agents: Sequence[str]) -> set[str]:
    """Return these agents; of an empty list all that compete, or the controls if nobody does.

    Raises:
        Misuse: if the run has no such agent.
    """
    known = [agent.name for agent in run.config.agents]
    if unknown := [name for name in agents if name not in known]:
        raise Misuse(f"run {run.id} has no agent {unknown[0]!r}; it has: {', '.join(known)}")
    competing = [agent.name for agent in run.config.agents if not agent.is_control]
    return set(agents or competing or known)
