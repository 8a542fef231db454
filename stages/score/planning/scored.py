"""The score tree of an answer to a planning case, from code and, where one is there, a judge."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence

from stages.score.judging.panel import RunPanel
from stages.score.judging.sight import sight_of
from stages.score.planning.grade import grade_of
from stages.score.planning.judging import Opinion, PlanJudge
from stages.score.planning.mark import mark
from stages.score.planning.pictures import case_pictures
from stages.score.tree import aggregate
from taskdata.artifacts import ArtifactStore
from taskdata.errors import BadTaskData
from taskdata.schema.checkpoint import Checkpoint, PlanGrade
from taskdata.schema.planning import Setting
from taskdata.schema.planning_score import Behaviour, PlanningScore, PredictedPlan
from taskdata.schema.scores import LeafScore, NodeScore, Unscored
from taskdata.schema.task import Task
from taskdata.schema.transcript import Transcript

CODE = "plan:code@1"
"""The verifier of what code alone has decided."""

SeatJudges = Callable[[], Awaitable[Sequence[PlanJudge]]]
"""Makes the judges of one trial's plan ready, once they are needed."""

_NO_ANSWER = PredictedPlan()
_UNSCORED = {
    "no_judge": Unscored.NOT_CONFIGURED,
    "no_verdict": Unscored.NO_VERDICT,
}
_WHY = {
    "no_judge": "code finds no error, the plan is not that of the reference, and no judge is "
    "configured",
    "no_verdict": "the judge gave no verdict",
}
_REASON_CHARS = 2_000


def answer_in(transcript: Transcript | None) -> PredictedPlan:
    """Return the answer to a case; an empty one where nothing was answered."""
    if transcript is None or transcript.predicted_plan is None:
        return _NO_ANSWER
    return transcript.predicted_plan


async def plan_score(
    task: Task,
    transcript: Transcript | None,
    judges: SeatJudges | None,
) -> NodeScore:
    """Return the root of a planning trial: ten times the grade, with the marks beside it.

    `judges` seats the judges once they are needed; None: there is none.

    Raises what `PlanJudge.opinion` raises.
    """
    answer = answer_in(transcript)
    score = await asyncio.to_thread(mark, task, answer)
    verifier = CODE
    if judges is not None and task.planning is not None and wants_judge(task, answer, score):
        case = task.planning
        seated = await judges()
        found = await asyncio.gather(
            *(judge.opinion(task, case, answer) for judge in seated), return_exceptions=True
        )
        opinions = [one for one in found if isinstance(one, Opinion)]
        for fault in found:
            if isinstance(fault, BaseException):
                raise fault
        verifier = _verifier([one.label for one in opinions])
        score = with_opinions(score, opinions)
    return root_of(task, answer, score, verifier)


def _verifier(labels: Sequence[str]) -> str:
    """Return the judge's name, or `judge:majority(MODEL, MODEL)@VERSION` for several."""
    if len(labels) == 1:
        return labels[0]
    parts = sorted(label.removeprefix("judge:").rpartition("@") for label in labels)
    names = ", ".join(name for name, _, _ in parts)
    return f"judge:majority({names})@{parts[0][2]}"


def wants_judge(task: Task, answer: PredictedPlan, score: PlanningScore) -> bool:
    """Return whether a judge may find more in an answer than code has.

    Of a plan with proven errors a judge may find others; where the setting asks for one thing that
    code decides, and where nothing is left of the plan, there is nothing more to find.
    """
    if score.undecided == "no_judge":
        return True
    if score.correct is not False or not score.grade or not answer.chain:
        return False
    return task.planning is not None and task.planning.setting not in (
        Setting.BROKEN,
        Setting.UNSOLVABLE,
    )


def with_opinions(score: PlanningScore, opinions: Sequence[Opinion]) -> PlanningScore:
    """Return the marks with what the judges found; they never take away what code has proven.

    Of several judges, an error counts if half of those with a verdict raise its kind.
    """
    given = [one for one in opinions if not one.fault]
    if not given:
        return score if score.undecided != "no_judge" else _without_verdict(score)
    most = [kind for kind in _kinds(given) if 2 * _raised(given, kind) >= len(given)]
    flags = (*score.flags, *(f for one in given for f in one.flags if f.error in most))
    update: dict[str, object] = {
        "flags": flags,
        "correct": not flags,
        "grade": grade_of(flags),
        "undecided": "",
    }
    if given[0].reasonable is not None:
        update["behaviour"] = Behaviour.OTHER if flags else Behaviour.ALTER
    return score.model_copy(update=update)


def _without_verdict(score: PlanningScore) -> PlanningScore:
    return score.model_copy(update={"undecided": "no_verdict"})


def _kinds(given: Sequence[Opinion]) -> set[str]:
    return {flag.error for one in given for flag in one.flags}


def _raised(given: Sequence[Opinion], kind: str) -> int:
    return sum(any(flag.error == kind for flag in one.flags) for one in given)


def root_of(
    task: Task, answer: PredictedPlan, score: PlanningScore, verifier: str = CODE
) -> NodeScore:
    """Return the score tree; leaves other than the grade of the plan have no score.

    Raises:
        BadTaskData: The weights of the tree add up to 0.
    """
    leaves = {leaf.id: _leaf(leaf, answer, score, verifier) for leaf in task.checkpoints.leaves()}
    root = aggregate(task.checkpoints, leaves)
    return root.model_copy(update={"planning": score})


def _leaf(
    leaf: Checkpoint, answer: PredictedPlan, score: PlanningScore, verifier: str
) -> LeafScore:
    if not isinstance(leaf.verifier, PlanGrade):
        raise BadTaskData(
            f"checkpoint {leaf.id!r}: of a planning case nothing but the grade of the plan is "
            "scored; use the verifier plan_grade"
        )
    points = None if score.grade is None else round(10 * score.grade, 6)
    unscored = _UNSCORED[score.undecided] if score.undecided else Unscored.NOT_OBSERVED
    return LeafScore(
        leaf_id=leaf.id,
        score=points,
        verifier=verifier,
        reason=_reason(answer, score)[:_REASON_CHARS],
        unscored=unscored if points is None else None,
    )


def _reason(answer: PredictedPlan, score: PlanningScore) -> str:
    if score.unreadable:
        return f"the answer could not be read: {answer.fault}"
    if score.undecided:
        return _WHY[score.undecided]
    if score.flags:
        return "; ".join(
            f"{flag.error.value} ({flag.severity.value}"
            f"{f', step {flag.step}' if flag.step else ''}): {flag.evidence}"
            for flag in score.flags
        )
    if score.behaviour is not None:
        return f"after the failure: {score.behaviour.value}"
    if score.same_as_reference:
        return "it refuses, as it must" if score.refused else "it is the reference's answer"
    return "no error was found"


async def seated(
    panel: RunPanel,
    task: Task,
    artifacts: ArtifactStore,
    trial_id: str,
    answered: Callable[[], None],
    copy_of: str | None,
) -> Sequence[PlanJudge]:
    """Return the run's judges of one trial's plan; they replay what they said about it before.

    Raises:
        NightshiftError: The artifact store no longer has a picture of the case.
    """
    judges: list[PlanJudge] = []
    for judge, heard in zip(panel.judges, panel.listeners(answered), strict=True):
        sight = sight_of(judge.spec, judge.base_url, judge.settings)
        seated_one = PlanJudge(
            asks=await judge.asks_of(trial_id, heard, copy_of),
            model=str(judge.spec),
            sight=sight,
            blind=judge.settings.blind,
            pictures=await asyncio.to_thread(case_pictures, task, artifacts, sight),
        )
        judges.append(seated_one)
    return judges
