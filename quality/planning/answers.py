"""Answers to planning cases, each with what is known of its case."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from taskdata.schema.planning import PlanningCase, Setting, ToolRole
from taskdata.schema.planning_score import PlanningScore
from taskdata.schema.run import OutcomeStatus, TrialResult
from taskdata.schema.task import Task

EXTRANEOUS = {"holistic": "extraneous_holistic", "step_wise": "extraneous_step_wise"}
"""The two halves of the setting `extraneous`, by form."""
_LEFT_OUT = ("no_judge", "")


@dataclass(frozen=True)
class PlanAnswer:
    """One trial on one planning case."""

    agent: str
    case_id: str
    case: PlanningCase
    mark: PlanningScore | None
    """None: infrastructure prevented the answer or its score."""

    @property
    def source(self) -> str:
        """The task that the case was made from, by which answers are clustered.

        Cases from one task share its files, tools and steps, so that their answers resemble each
        other more than those to other cases.
        """
        return self.case.origin.task_id

    @property
    def setting(self) -> str:
        """The setting; of extraneous cases, with the form."""
        if self.case.setting is Setting.EXTRANEOUS:
            return EXTRANEOUS[self.case.form]
        return self.case.setting.value

    @property
    def correct(self) -> bool | None:
        """Whether the answer counts as correct; None: nobody judged it, or it was prevented."""
        if self.mark is None:
            return None
        if self.mark.correct is None:
            return None if self.mark.undecided in _LEFT_OUT else False
        return self.mark.correct

    @property
    def grade(self) -> float | None:
        """The grade that it counts with, 0-1; None like `correct`."""
        if self.mark is None or self.correct is None:
            return None
        return self.mark.grade or 0.0

    @property
    def distractors(self) -> int:
        """How many distractors its case offers."""
        return len(self.case.of_role(ToolRole.DISTRACTOR))


def answer_of(result: TrialResult, tasks: Mapping[str, Task]) -> PlanAnswer | None:
    """Return a trial's answer; None of pending trials, and of those that are no planning cases."""
    task = tasks[result.trial.task_hash]
    if task.planning is None or result.outcome is None:
        return None
    if result.is_infrastructure_error:
        return PlanAnswer(result.trial.agent, task.id, task.planning, None)
    if result.score is None or result.outcome.status is not OutcomeStatus.FINISHED:
        return None
    return PlanAnswer(result.trial.agent, task.id, task.planning, result.score.root.planning)


def first_answers(
    results: Sequence[TrialResult], tasks: Mapping[str, Task]
) -> dict[str, list[PlanAnswer]]:
    """Return the answers of first attempts by agent, in the order of `results`.

    Args:
        results: Trials of any tier and round.
        tasks: By content hash.
    """
    found: dict[str, list[PlanAnswer]] = {}
    for result in results:
        answer = answer_of(result, tasks) if result.trial.round == 0 else None
        if answer is not None:
            found.setdefault(answer.agent, []).append(answer)
    return found
