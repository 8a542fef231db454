"""The cost of plans in cases whose tools have costs (APB, table 5 and appendix C.8)."""

from collections.abc import Mapping, Sequence

from quality.planning.answers import PlanAnswer
from quality.planning.marks import plan_marks
from quality.statistics.intervals import clustered_mean
from taskdata.schema.estimate import Estimate
from taskdata.schema.planning import Setting
from taskdata.schema.planning_summary import PlanCosts


def plan_costs(by_agent: Mapping[str, Sequence[PlanAnswer]]) -> dict[str, PlanCosts]:
    """Return the costs of each agent that has answered efficiency-aware cases."""
    priced = {
        agent: those
        for agent, answers in by_agent.items()
        if (those := [a for a in answers if a.case.setting is Setting.EFFICIENCY])
    }
    solved = [{a.case_id for a in those if a.correct} for those in priced.values()]
    common = set.intersection(*solved) if solved else set()
    return {agent: _costs(those, common) for agent, those in priced.items()}


def _costs(answers: Sequence[PlanAnswer], common: set[str]) -> PlanCosts:
    passed = [a for a in answers if a.correct]
    marks = [a.mark for a in answers if a.mark is not None]
    over = [
        (a.mark.cost / a.case.optimum - 1, a.source)
        for a in passed
        if a.mark is not None and a.mark.cost is not None and a.case.optimum is not None
    ]
    return PlanCosts(
        marks=plan_marks(answers),
        all=_mean_cost(answers),
        passed=_mean_cost(passed),
        common=_mean_cost([a for a in passed if a.case_id in common]),
        optimum=_optimum(answers),
        over_optimum=clustered_mean([o for o, _ in over], [source for _, source in over]),
        trap_calls=sum(len(mark.traps) for mark in marks),
    )


def _mean_cost(answers: Sequence[PlanAnswer]) -> Estimate:
    known = [
        (float(a.mark.cost), a.source)
        for a in answers
        if a.mark is not None and a.mark.cost is not None
    ]
    return clustered_mean([cost for cost, _ in known], [source for _, source in known], lowest=0)


def _optimum(answers: Sequence[PlanAnswer]) -> Estimate:
    known = [(float(a.case.optimum), a.source) for a in answers if a.case.optimum is not None]
    return clustered_mean([cost for cost, _ in known], [source for _, source in known], lowest=0)
