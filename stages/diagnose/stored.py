"""The records of stored trials, and the labels that rules give them."""

from stages.diagnose.labels import diagnose
from stages.diagnose.plans import diagnosed_plan
from stages.diagnose.record import Record
from stages.diagnose.signals import observe
from stages.diagnose.taxonomies import labels_of
from taskdata.errors import NightshiftError
from taskdata.schema.diagnosis import Diagnosis
from taskdata.schema.run import TrialResult
from taskdata.schema.success import SuccessRule
from taskdata.schema.task import Task
from taskdata.store import Store


def diagnosed(record: Record) -> Diagnosis:
    """Return the labels that rules give a scored trial."""
    if record.score.root.planning is not None:
        return diagnosed_plan(record.score.trial_id, record.score.root.planning)
    found = diagnose(record.score.trial_id, record.signals)
    # A trial that did not fail may have made the same mistakes, but they had no consequence.
    return found if found.stage is None else found.model_copy(update={"labels": labels_of(record)})


def record_of(store: Store, result: TrialResult, task: Task, rule: SuccessRule) -> Record:
    """Return everything on record of a scored trial.

    Raises:
        NightshiftError: if its outcome, transcript or score is not in the store.
    """
    outcome, score, trial_id = result.outcome, result.score, result.trial.id
    transcript = None if outcome is None else store.transcript_of(outcome)
    if outcome is None or transcript is None or score is None:
        raise NightshiftError(f"trial {trial_id}: its outcome, transcript or score is missing")
    # Asking for the views of what was not delivered would cost as much as the labels.
    views = store.rendered(trial_id) if outcome.deliverables else ()
    signals = observe(task, outcome, transcript, score, views, rule)
    return Record(task, outcome, transcript, score, signals)
