"""Trials that only predicted steps: they leave no files, so their leaves are unscored."""

from quality.atomic.step_by_step import score_steps
from quality.encoders.encoder import Similarity
from stages.score.tree import aggregate
from taskdata.errors import BadTaskData
from taskdata.schema.checkpoint import Checkpoint
from taskdata.schema.scores import LeafScore, NodeScore, Unscored
from taskdata.schema.task import Task
from taskdata.schema.transcript import Transcript

_WHY = "the steps were predicted and not done: there is nothing to verify"


def predicted_score(
    task: Task, transcript: Transcript, similarity: Similarity | None = None
) -> NodeScore:
    """Return a root with unscored leaves, and the assessment of the predictions (`steps`).

    Without `similarity` a subjective answer is not scored.

    Raises:
        BadTaskData: the task has no reference that could have been predicted.
    """
    if task.reference is None:
        raise BadTaskData(f"task {task.id!r}: has no reference to compare predictions with")
    root = aggregate(
        task.checkpoints,
        {c.id: _unscored(c) for c in task.checkpoints.leaves()},
        weightless_is_0=task.provenance.as_published,
    )
    marks = score_steps(transcript.predictions, task.reference, task.answer, similarity)
    return root.model_copy(update={"steps": marks})


def _unscored(leaf: Checkpoint) -> LeafScore:
    kind = "unknown" if leaf.verifier is None else leaf.verifier.kind
    return LeafScore(
        leaf_id=leaf.id,
        score=None,
        verifier=kind,
        reason=_WHY,
        unscored=Unscored.NOT_OBSERVED,
    )
