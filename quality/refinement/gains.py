"""The gains of refinement: over the first attempts, over the arm `none`, and over the whole bank.

The trials that are tried again are those that fell short, so that chance alone lets them gain on
average. The arm `none` gains by chance as much; what feedback gains is the difference between the
arms (GTA-2, section 6.5, compares its feedback with a plain hint in the same way).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import fsum
from statistics import fmean
from typing import Literal

from quality.refinement.attempts import Pair, RefinedTrial, cost_of, paired, refined_trials
from quality.refinement.regressions import regressions
from quality.statistics.intervals import clustered_mean, clustered_share
from quality.statistics.paired import compare_by_task
from quality.statistics.significance import holm
from taskdata.schema.estimate import Estimate
from taskdata.schema.run import TrialResult
from taskdata.schema.success import SuccessRule, TrialVerdict
from taskdata.schema.summary import GainOverNone, RefinementGain, WholeBank

CONTROL = "none"
_NoCost = Literal["no gain", "price unknown"]


@dataclass(frozen=True)
class _Arm:
    """One arm of one agent."""

    agent: str
    name: str
    results: Sequence[TrialResult]
    """Of the agent, of all rounds and arms."""
    refined: Sequence[RefinedTrial]
    control: Sequence[RefinedTrial] | None
    """Those of the arm `none`; None: this is it, or the run has none."""

    @property
    def rounds(self) -> list[int]:
        return sorted({one.trial.round for trial in self.refined for one in trial.attempts})

    def attempts(self, round_: int) -> list[TrialResult]:
        return [o for trial in self.refined for o in trial.attempts if o.trial.round == round_]


def refinement_gains(
    by_agent: Mapping[str, Sequence[TrialResult]], arms: Sequence[str], rule: SuccessRule
) -> tuple[RefinementGain, ...]:
    """Return what each arm has changed by the end of each of its rounds, agent by agent.

    Args:
        by_agent: The results of each agent, of all rounds of a run.
        arms: Those of the run, in its order.
        rule: When a trial of the run has succeeded.
    """
    found = [
        _gain(arm, round_, rule)
        for agent, results in by_agent.items()
        for arm in _arms(agent, results, arms)
        for round_ in arm.rounds
    ]
    return _corrected(found)


def _arms(agent: str, results: Sequence[TrialResult], names: Sequence[str]) -> list[_Arm]:
    refined = {name: refined_trials(results, name) for name in names}
    return [
        _Arm(agent, name, results, own, refined.get(CONTROL) if name != CONTROL else None)
        for name, own in refined.items()
    ]


def _gain(arm: _Arm, round_: int, rule: SuccessRule) -> RefinementGain:
    pairs = paired(arm.refined, round_)
    attempts = arm.attempts(round_)
    before, after = _mean([p.before for p in pairs]), _mean([p.after for p in pairs])
    per_point, why_none = _cost_per_point(arm.refined, pairs, round_)
    first, last = _success(pairs, rule)
    return RefinementGain(
        agent=arm.agent,
        arm=arm.name,
        round=round_,
        trials=len(arm.refined),
        attempts=len(attempts),
        errors=sum(one.is_infrastructure_error for one in attempts),
        mean_before=before,
        mean_after=after,
        relative=after / before - 1 if before and after is not None else None,
        success_before=first,
        success_after=last,
        gain=_differences([(p.task_id, p.after - p.before) for p in pairs]),
        over_none=_over_none(arm, pairs, round_),
        cost_usd=cost_of(attempts),
        cost_per_point_usd=per_point,
        no_cost_per_point=why_none,
        regressions=regressions(pairs),
        whole_bank=_whole_bank(arm.results, pairs, rule),
    )


def _mean(values: Sequence[float]) -> float | None:
    return fmean(values) if values else None


def _differences(known: Sequence[tuple[str, float]]) -> Estimate:
    """Return the mean of differences of root scores, each with its task."""
    return clustered_mean(
        [one for _, one in known], [task for task, _ in known], lowest=-10, highest=10
    )


def _over_none(arm: _Arm, pairs: Sequence[Pair], round_: int) -> GainOverNone | None:
    """Return an arm against `none`, trial by trial; None without that arm."""
    if arm.control is None:
        return None
    plain = {pair.first.trial.id: pair.last for pair in paired(arm.control, round_)}
    both = [
        (pair.task_id, plain[pair.first.trial.id].root_score_upper or 0.0, pair.after)
        for pair in pairs
        if pair.first.trial.id in plain
    ]
    without: dict[str, list[float]] = {}
    told: dict[str, list[float]] = {}
    for task, most, least in both:
        without.setdefault(task, []).append(most)
        told.setdefault(task, []).append(least)
    return GainOverNone(
        difference=_differences([(task, least - most) for task, most, least in both]),
        p_value=compare_by_task(without, told).p_value,
        p_holm=None,
    )


def _corrected(gains: Sequence[RefinementGain]) -> tuple[RefinementGain, ...]:
    """Return the gains, the comparisons with `none` corrected for how many there are."""
    p_values = holm([gain.over_none.p_value if gain.over_none else None for gain in gains])
    return tuple(
        gain
        if gain.over_none is None
        else gain.model_copy(
            update={"over_none": gain.over_none.model_copy(update={"p_holm": p_value})}
        )
        for gain, p_value in zip(gains, p_values, strict=True)
    )


def _cost_per_point(
    refined: Sequence[RefinedTrial], pairs: Sequence[Pair], round_: int
) -> tuple[float | None, _NoCost | None]:
    """Return dollars per point of root score, or why there is no such price."""
    points = fsum(pair.after - pair.before for pair in pairs)
    if points <= 0:
        return None, "no gain"
    counted = {pair.first.trial.id for pair in pairs}
    paid = [
        one for trial in refined if trial.first.trial.id in counted for one in trial.until(round_)
    ]
    cost = cost_of(paid)
    return (None, "price unknown") if cost is None else (cost / points, None)


def _success(pairs: Sequence[Pair], rule: SuccessRule) -> tuple[Estimate, Estimate]:
    """Return the shares that succeeded before and after, over trials decided in both attempts."""
    verdicts = [(p.task_id, p.first.verdict(rule), p.last.verdict(rule)) for p in pairs]
    undecided = (None, TrialVerdict.UNDECIDED)
    decided = [one for one in verdicts if one[1] not in undecided and one[2] not in undecided]
    tasks = [task for task, _, _ in decided]
    before, after = (
        clustered_share([one[place] is TrialVerdict.SUCCEEDED for one in decided], tasks)
        for place in (1, 2)
    )
    return before, after


def _whole_bank(
    results: Sequence[TrialResult], pairs: Sequence[Pair], rule: SuccessRule
) -> WholeBank:
    """Return the arm over all first attempts; one without a later score stands for itself."""
    later = {pair.first.trial.id: pair for pair in pairs}
    firsts = [one for one in results if one.trial.round == 0 and one.root_score is not None]
    standing = [later.get(one.trial.id, Pair(one, one)) for one in firsts]
    tasks = [pair.task_id for pair in standing]
    first, last = _success(standing, rule)
    gained = [
        (pair.task_id, pair.after - pair.before if pair.first is not pair.last else 0.0)
        for pair in standing
    ]
    return WholeBank(
        trials=len(standing),
        refined=len(later),
        first=_mean([one.root_score or 0.0 for one in firsts]),
        after=clustered_mean([pair.after for pair in standing], tasks, lowest=0, highest=10),
        success_first=first,
        success_after=last,
        gain=_differences(gained),
    )
