"""What distractors, broken tools and unsolvable tasks do to plans (APB, section 4.2)."""

from collections import defaultdict
from collections.abc import Sequence

from quality.planning.answers import PlanAnswer
from quality.planning.marks import plan_marks
from quality.statistics.intervals import clustered_mean, clustered_share
from quality.statistics.paired import compare_by_task
from taskdata.schema.estimate import Estimate
from taskdata.schema.planning import Form, Infeasibility, Setting
from taskdata.schema.planning_score import Behaviour
from taskdata.schema.planning_summary import ExtraneousEffect, ExtraneousUse


def extraneous_effects(answers: Sequence[PlanAnswer]) -> dict[str, ExtraneousEffect]:
    """Return the effect of distractors on one agent by form (APB, table 2)."""
    with_tools = [a for a in answers if a.case.setting is Setting.EXTRANEOUS]
    forms = [form for form in Form if any(a.case.form is form for a in with_tools)]
    return {
        form.value: _effect([a for a in with_tools if a.case.form is form], answers)
        for form in forms
    }


def _effect(extraneous: Sequence[PlanAnswer], answers: Sequence[PlanAnswer]) -> ExtraneousEffect:
    bases = {a.case.origin.base_case for a in extraneous}
    base = [a for a in answers if a.case_id in bases]
    counts = sorted({a.distractors for a in extraneous})
    plain, disturbed = _by_case(base), _by_base(extraneous)
    sources = {a.case_id: a.source for a in base}
    common = [case for case in plain if case in disturbed]
    differences = [_mean(disturbed[case]) - _mean(plain[case]) for case in common]
    return ExtraneousEffect(
        calls=_calls(extraneous),
        base=plan_marks(base).correct,
        extraneous=plan_marks(extraneous).correct,
        difference=clustered_mean(differences, [sources[c] for c in common], -1, 1),
        p_value=_paired(common, sources, plain, disturbed),
        by_count={
            count: ExtraneousUse(
                calls=_calls(those := [a for a in extraneous if a.distractors == count]),
                marks=plan_marks(those),
            )
            for count in counts
        },
    )


def _paired(
    cases: Sequence[str],
    sources: dict[str, str],
    plain: dict[str, list[float]],
    disturbed: dict[str, list[float]],
) -> float | None:
    """Return the p-value over source tasks, of which each counts once."""
    first: dict[str, list[float]] = defaultdict(list)
    second: dict[str, list[float]] = defaultdict(list)
    for case in cases:
        first[sources[case]].append(_mean(plain[case]))
        second[sources[case]].append(_mean(disturbed[case]))
    return compare_by_task(first, second).p_value


def _calls(answers: Sequence[PlanAnswer]) -> int:
    return sum(len(a.mark.extraneous) for a in answers if a.mark is not None)


def _by_case(answers: Sequence[PlanAnswer]) -> dict[str, list[float]]:
    marks: dict[str, list[float]] = defaultdict(list)
    for answer in answers:
        if answer.correct is not None:
            marks[answer.case_id].append(float(answer.correct))
    return marks


def _by_base(answers: Sequence[PlanAnswer]) -> dict[str, list[float]]:
    marks: dict[str, list[float]] = defaultdict(list)
    for answer in answers:
        if answer.correct is not None and answer.case.origin.base_case is not None:
            marks[answer.case.origin.base_case].append(float(answer.correct))
    return marks


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def behaviours(answers: Sequence[PlanAnswer]) -> tuple[dict[str, Estimate], int]:
    """Return the share of each behaviour after a broken tool, and how many are undecided.

    Answers that could not be read are undecided: they show no behaviour.
    """
    broken = [a for a in answers if a.case.setting is Setting.BROKEN and a.mark is not None]
    known = [a for a in broken if a.mark is not None and a.mark.behaviour is not None]
    if not broken:
        return {}, 0
    sources = [a.source for a in known]
    shares = {
        kind.value: clustered_share(
            [a.mark is not None and a.mark.behaviour is kind for a in known], sources
        )
        for kind in Behaviour
    }
    return shares, len(broken) - len(known)


def refusals(answers: Sequence[PlanAnswer]) -> dict[str, Estimate]:
    """Return the share of unsolvable cases that were rightly refused, by kind (APB, table 1)."""
    found = {}
    for kind in Infeasibility:
        those = [a for a in answers if a.case.infeasibility is kind and a.correct is not None]
        if those:
            found[kind.value] = clustered_share(
                [bool(a.correct) for a in those], [a.source for a in those]
            )
    return found
