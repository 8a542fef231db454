"""The planning tables of a run."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import combinations

from quality.planning.answers import EXTRANEOUS, PlanAnswer, first_answers
from quality.planning.costs import plan_costs
from quality.planning.marks import (
    POSITIONS,
    STEP_RANGES,
    by_horizon,
    by_modality,
    by_position,
    by_step_range,
    grouped,
)
from quality.planning.refined import refined_plans
from quality.planning.robustness import behaviours, extraneous_effects, refusals
from quality.statistics.paired import compare_by_task
from quality.statistics.significance import holm
from taskdata.schema.planning import Modality, Setting
from taskdata.schema.planning_summary import (
    PlanCosts,
    PlanningAgent,
    PlanningComparison,
    PlanningSummary,
)
from taskdata.schema.run import TrialResult
from taskdata.schema.task import Task

SETTINGS = (
    Setting.HOLISTIC.value,
    Setting.STEP_WISE.value,
    *EXTRANEOUS.values(),
    Setting.BROKEN.value,
    Setting.UNSOLVABLE.value,
    Setting.EFFICIENCY.value,
)


def planning_summary(
    results: Sequence[TrialResult],
    tasks: Mapping[str, Task],
    controls: frozenset[str] = frozenset(),
    arms: Sequence[str] = (),
) -> PlanningSummary:
    """Return the planning tables; without agents if no trial answers a planning case.

    Args:
        results: The trials of a run, of all rounds.
        tasks: By content hash.
        controls: Names of agents that are no competitors.
        arms: The arms of refinement of the run, in its order.
    """
    by_agent = first_answers(results, tasks)
    costs = plan_costs({name: a for name, a in by_agent.items() if name not in controls})
    costs |= plan_costs({name: a for name, a in by_agent.items() if name in controls})
    everything: dict[str, list[TrialResult]] = defaultdict(list)
    for result in results:
        everything[result.trial.agent].append(result)
    return PlanningSummary(
        agents=tuple(
            _agent(name, answers, costs.get(name), is_control=name in controls)
            for name, answers in by_agent.items()
        ),
        comparisons=_comparisons({n: a for n, a in by_agent.items() if n not in controls}),
        refined=refined_plans(everything, tasks, arms),
    )


def _agent(
    name: str, answers: Sequence[PlanAnswer], costs: PlanCosts | None, *, is_control: bool
) -> PlanningAgent:
    shown, undecided = behaviours(answers)
    ranges = [f"{least}-{most}" for least, most in STEP_RANGES]
    return PlanningAgent(
        agent=name,
        is_control=is_control,
        settings=grouped(answers, lambda answer: answer.setting, SETTINGS),
        extraneous=extraneous_effects(answers),
        behaviours=shown,
        behaviours_undecided=undecided,
        refusals=refusals(answers),
        horizons=grouped(answers, by_horizon),
        positions=grouped(answers, by_position, POSITIONS),
        step_ranges=grouped(answers, by_step_range, ranges),
        modalities=grouped(answers, by_modality, list(Modality)),
        costs=costs,
    )


def _comparisons(by_agent: Mapping[str, Sequence[PlanAnswer]]) -> tuple[PlanningComparison, ...]:
    found = []
    for setting in SETTINGS:
        for first, second in combinations(by_agent, 2):
            one, other = _by_case(by_agent[first], setting), _by_case(by_agent[second], setting)
            common = sorted(one.keys() & other.keys())
            if not common:
                continue
            sources = {a.case_id: a.source for a in by_agent[first]}
            tested = compare_by_task(
                _by_source(one, common, sources), _by_source(other, common, sources), widest=1
            )
            found.append(
                PlanningComparison(
                    setting=setting,
                    first=first,
                    second=second,
                    cases=len(common),
                    difference=tested.difference,
                    p_value=tested.p_value,
                    p_holm=None,
                )
            )
    corrected = holm([one.p_value for one in found])
    return tuple(
        one.model_copy(update={"p_holm": p}) for one, p in zip(found, corrected, strict=True)
    )


def _by_case(answers: Sequence[PlanAnswer], setting: str) -> dict[str, list[float]]:
    found: dict[str, list[float]] = defaultdict(list)
    for answer in answers:
        if answer.setting == setting and answer.correct is not None:
            found[answer.case_id].append(float(answer.correct))
    return found


def _by_source(
    marks: Mapping[str, Sequence[float]], cases: Sequence[str], sources: Mapping[str, str]
) -> dict[str, list[float]]:
    found: dict[str, list[float]] = defaultdict(list)
    for case in cases:
        found[sources[case]].append(sum(marks[case]) / len(marks[case]))
    return found
