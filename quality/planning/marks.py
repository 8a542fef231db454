"""Plan correctness, grade and errors over groups of answers (APB, section 3.3)."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence

from quality.planning.answers import PlanAnswer
from quality.statistics.intervals import clustered_mean, clustered_share
from taskdata.schema.planning import Form, Setting
from taskdata.schema.planning_score import PlanError
from taskdata.schema.planning_summary import PlanMarks

STEP_RANGES = ((1, 5), (6, 10), (11, 15), (16, 20))
"""Lengths of a reference's tool chain in APB's table 12; longer ones are `>20`."""
POSITIONS = ("early", "middle", "late")
SUBTYPES = ("premature_conclusion", "task_incompleteness")
"""The subtypes of E2, of step-wise and of holistic answers."""


def plan_marks(answers: Sequence[PlanAnswer]) -> PlanMarks:
    """Return the marks of a group of answers, with intervals clustered by source task."""
    known = [a for a in answers if a.correct is not None]
    sources = [a.source for a in known]
    undecided = [a.mark.undecided for a in answers if a.mark is not None]
    correct = clustered_share([bool(a.correct) for a in known], sources)
    no_verdict = undecided.count("no_verdict")
    possible = None if correct.mean is None else correct.mean + no_verdict / len(known)
    return PlanMarks(
        answers=sum(a.mark is not None for a in answers),
        marked=len(known),
        unreadable=sum(a.mark is not None and a.mark.unreadable for a in answers),
        no_verdict=no_verdict,
        no_judge=undecided.count("no_judge"),
        infrastructure=sum(a.mark is None for a in answers),
        correct=correct,
        correct_upper=possible if no_verdict else None,
        grade=clustered_mean([a.grade or 0.0 for a in known], sources, lowest=0, highest=1),
        errors={
            name: clustered_share([has(a) for a in known], sources)
            for name, has in _error_columns().items()
        },
    )


def _error_columns() -> dict[str, Callable[[PlanAnswer], bool]]:
    def kind(error: PlanError) -> Callable[[PlanAnswer], bool]:
        return lambda answer: answer.mark is not None and error in answer.mark.errors

    def subtype(name: str) -> Callable[[PlanAnswer], bool]:
        return lambda answer: (
            answer.mark is not None and any(flag.subtype == name for flag in answer.mark.flags)
        )

    columns = {error.value: kind(error) for error in PlanError}
    return columns | {f"E2 {name}": subtype(name) for name in SUBTYPES}


def grouped(
    answers: Iterable[PlanAnswer],
    group_of: Callable[[PlanAnswer], str | None],
    order: Sequence[str] = (),
) -> dict[str, PlanMarks]:
    """Return the marks by group, those of `order` first; answers of group None are left out."""
    groups: dict[str, list[PlanAnswer]] = defaultdict(list)
    for answer in answers:
        if (name := group_of(answer)) is not None:
            groups[name].append(answer)
    names = [*(n for n in order if n in groups), *(n for n in sorted(groups) if n not in order)]
    return {name: plan_marks(groups[name]) for name in names}


def by_horizon(answer: PlanAnswer) -> str | None:
    """Return how many actions a step-wise case asks for (APB, table 14); None of other cases."""
    is_step_wise = answer.case.setting is Setting.STEP_WISE
    return str(answer.case.horizon) if is_step_wise else None


def by_position(answer: PlanAnswer) -> str | None:
    """Return the third of the trajectory in which a case with one action begins (APB, table 15)."""
    case, origin = answer.case, answer.case.origin
    if case.setting is not Setting.STEP_WISE or case.horizon != 1 or not origin.length:
        return None
    return POSITIONS[min(2, 3 * origin.position // origin.length)]


def by_step_range(answer: PlanAnswer) -> str | None:
    """Return the range of the reference's length (APB, table 12); None of step-wise cases."""
    if answer.case.setting is not Setting.HOLISTIC:
        return None
    for least, most in STEP_RANGES:
        if answer.case.steps <= most:
            return f"{least}-{most}"
    return f">{STEP_RANGES[-1][1]}"


def by_modality(answer: PlanAnswer) -> str | None:
    """Return the richest medium of a holistic case (APB, table 13); None of other cases."""
    is_holistic = answer.case.setting is Setting.HOLISTIC
    return answer.case.modality.value if is_holistic and answer.case.form is Form.HOLISTIC else None
