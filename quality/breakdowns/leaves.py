"""The leaves of trials that a verifier was asked about."""

from collections.abc import Mapping, Sequence

from taskdata.schema.checkpoint import Checkpoint
from taskdata.schema.run import TrialResult
from taskdata.schema.task import Task


def leaf_scores(
    scored: Sequence[TrialResult], tasks: Mapping[str, Task]
) -> list[tuple[TrialResult, Checkpoint, float]]:
    """Return the leaves that a verifier was asked about, with trial, checkpoint and score.

    One that got no score counts 0.
    """
    found = []
    for result in scored:
        checkpoints = {c.id: c for c in tasks[result.trial.task_hash].checkpoints.leaves()}
        for leaf in result.score.leaves if result.score else ():
            if leaf.unscored is None or leaf.unscored.was_asked:
                found.append((result, checkpoints[leaf.leaf_id], leaf.score or 0.0))
    return found
