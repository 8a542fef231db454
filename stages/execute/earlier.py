"""What an attempt in refinement has of the attempt before: its files and its answer.

Every arm has the same, so that arms differ in their feedback alone. Only files are kept of a
workspace: databases and mailboxes of a task begin anew in every attempt.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from stages.execute.attempt import RunningAttempt
from taskdata.errors import NightshiftError
from taskdata.schema.arms import EARLIER_FOLDER, EarlierAttempt
from taskdata.schema.asked_again import FOLDER as ASKED_AGAIN
from taskdata.schema.run import Deliverable, Trial, TrialOutcome
from taskdata.schema.service import FOLDER as SERVICES
from taskdata.schema.task import Task

MOST_NAMED = 50
"""The most files that the agent is told by name."""
MOST_ANSWER_CHARS = 4_000
MOST_PLAN_CHARS = 20_000
"""Of an answer to a planning case, which is all that there was."""
_MOST_REPETITIONS = 64


@dataclass(frozen=True)
class EarlierWork:
    """The work of the attempt before."""

    told: EarlierAttempt
    to_read: Mapping[str, bytes] = field(default_factory=dict)
    """Files by their path below `input/`, if the agent starts afresh."""
    to_go_on: Mapping[str, bytes] = field(default_factory=dict)
    """Files by their path below `output/`, if the agent goes on with them."""


def earlier_work(attempt: RunningAttempt, task: Task) -> EarlierWork | None:
    """Return the work that the attempt refines; None for a first attempt. Blocks.

    Raises:
        NightshiftError: the work is not in the store.
    """
    worker, parent_id = attempt.shared.worker, attempt.due.trial.parent_trial_id
    if parent_id is None:
        return None
    outcome = worker.store.outcome(parent_id)
    if outcome is None:
        raise NightshiftError(f"trial {parent_id}, which is to be refined, has no outcome")
    files = {
        file.name: worker.store.artifacts.read_bytes(file.sha256)
        for file in agents_files(outcome, task)
    }
    goes_on = worker.run.config.refine_in == "workspace"
    told = EarlierAttempt(
        folder="output" if goes_on else f"input/{EARLIER_FOLDER}",
        files=tuple(files)[:MOST_NAMED],
        answer=outcome.final_answer[
            : MOST_ANSWER_CHARS if task.planning is None else MOST_PLAN_CHARS
        ],
    )
    if goes_on:
        return EarlierWork(told, to_go_on=files)
    return EarlierWork(told, {f"{EARLIER_FOLDER}/{name}": data for name, data in files.items()})


def agents_files(outcome: TrialOutcome, task: Task) -> tuple[Deliverable, ...]:
    """Return the files that the agent left, without those that Nightshift adds to a trial.

    Results of tools that are called again after a trial, for scoring, are not shown to an agent.
    """
    ours = {ASKED_AGAIN} if task.asks_again else set()
    if task.services:
        ours.add(SERVICES)
    return tuple(f for f in outcome.deliverables if PurePosixPath(f.name).parts[0] not in ours)


def sample_of(trial: Trial) -> int:
    """Return the number that tells the replies to this trial from those to equal requests."""
    return trial.round * _MOST_REPETITIONS + trial.repetition
