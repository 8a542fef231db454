"""The coverage maps of released tasks."""

from stages.construct.answers.drafts import draft_from
from stages.construct.history import covered
from taskdata.errors import BadTaskData
from taskdata.schema.release import ReleaseNotes
from taskdata.schema.requirement import ExplicitRequirement
from taskdata.schema.task import Task
from taskdata.store import Store


def coverage_of(
    store: Store, task: Task, notes: ReleaseNotes | None = None
) -> tuple[ExplicitRequirement, ...] | None:
    """Return the coverage map of a task; None: the task is too large for a draft to have one.

    Args:
        store: Holds the steps of the candidate that the task was made from.
        task: The task.
        notes: The release that the task is in, which names its candidate; None: there is none, so
            the map holds what code finds.
    """
    entries = notes.lineage if notes else ()
    made = (e.candidate_id for e in entries if e.task_hash == task.content_hash)
    candidate_id = next(filter(None, made), None)
    try:
        draft = draft_from(task)
    except BadTaskData:
        return None
    return covered(draft, store.steps(candidate_id) if candidate_id else ())
