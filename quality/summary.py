"""The summary of a run: what `results` prints and the dashboard draws, from stored facts alone.

Scores are those of the first attempts (round 0); refinement rounds show as gains. Infrastructure
errors stand beside the scores, never inside them. A leaf that a verifier was asked about and gave
no score on counts 0 in every number here that an agent is credited with.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import combinations
from pathlib import PurePosixPath
from statistics import fmean
from typing import Any

from quality.atomic.end_to_end import end_to_end_accuracy
from quality.atomic.step_by_step import step_accuracy
from quality.breakdowns.detail import agent_detail
from quality.breakdowns.groups import ANSWER
from quality.breakdowns.leaves import leaf_scores
from quality.breakdowns.turns import mean_turns
from quality.history.categories import informative, pooled_by_category
from quality.planning.report import planning_summary
from quality.planning.ways import ways_of_planning
from quality.refinement.gains import refinement_gains
from quality.statistics.intervals import clustered_mean
from quality.statistics.paired import compare_by_task
from quality.success import success_rates
from taskdata.schema.agent import AgentSpec
from taskdata.schema.checkpoint import Checkpoint, Judge, checked_by_code
from taskdata.schema.diagnosis import (
    Diagnosis,
    FailureLevels,
    FailureStage,
    FailureType,
    Taxonomy,
)
from taskdata.schema.effort import CallEffort
from taskdata.schema.estimate import Estimate
from taskdata.schema.gate import GateResult
from taskdata.schema.planning_summary import PlanningSummary
from taskdata.schema.run import OutcomeStatus, Run, StageReport, TrialOutcome, TrialResult
from taskdata.schema.success import SuccessRule
from taskdata.schema.summary import (
    AgentComparison,
    AgentSummary,
    EndToEndAccuracy,
    RunHeader,
    RunSummary,
    StepAccuracy,
)
from taskdata.schema.task import Task
from taskdata.schema.withdrawal import Withdrawal, WithdrawnTask

_CAUSE_LENGTH = 160


def summarise(
    run: Run,
    results: Sequence[TrialResult],
    tasks: Mapping[str, Task],
    gates: Sequence[GateResult] = (),
    stages: Sequence[StageReport] = (),
    withdrawals: Iterable[Withdrawal] = (),
) -> RunSummary:
    """Return the summary of `run` over the trials of all its rounds; `tasks` by content hash."""
    by_agent = {
        agent.name: [r for r in results if r.trial.agent == agent.name]
        for agent in run.config.agents
    }
    controls = {agent.name for agent in run.config.agents if agent.is_control}
    turns = mean_turns([r for r in results if r.trial.round == 0 and r.trial.agent not in controls])
    return RunSummary(
        run=_header(run, tasks),
        agents=tuple(
            _agent(
                agent,
                [r for r in by_agent[agent.name] if r.trial.round == 0],
                tasks,
                run.config.success,
                turns,
            )
            for agent in run.config.agents
        ),
        refinement=refinement_gains(by_agent, run.config.feedback, run.config.success),
        unevaluated=sum(result.score is None for result in results),
        judging=_judging(results),
        talking=_talking(results),
        labelling=_labelling(results),
        critique=sum((r.critique for r in results), CallEffort()),
        disagreement=_disagreement(results),
        comparisons=tuple(
            _comparison(first, second, by_agent) for first, second in combinations(by_agent, 2)
        ),
        gates=tuple(gates),
        withdrawn=_withdrawn(withdrawals, results),
        stages=tuple(stages),
        planning=_planning(run, results, tasks, controls),
    )


def _planning(
    run: Run, results: Sequence[TrialResult], tasks: Mapping[str, Task], controls: Iterable[str]
) -> PlanningSummary | None:
    ways = ways_of_planning(run.config.agents, results)
    if all(task.planning is None for task in tasks.values()) and not ways:
        return None
    arms = run.config.feedback if run.config.refinement_rounds else ()
    found = planning_summary(results, tasks, frozenset(controls), arms)
    return found.model_copy(update={"ways": ways})


def _withdrawn(
    withdrawals: Iterable[Withdrawal], results: Sequence[TrialResult]
) -> tuple[WithdrawnTask, ...]:
    trials = Counter(result.trial.task_hash for result in results)
    return tuple(WithdrawnTask(withdrawal=w, trials=trials[w.task_hash]) for w in withdrawals)


def _header(run: Run, tasks: Mapping[str, Task]) -> RunHeader:
    config = run.config
    return RunHeader(
        id=run.id,
        status=run.status.value,
        bank=config.bank,
        release_hash=run.release_hash,
        code_version=run.code_version,
        created_at=run.created_at,
        finished_at=run.finished_at,
        threshold=config.threshold,
        min_coverage=config.min_coverage,
        judge=config.judge_name,
        user=None if config.user is None else str(config.user),
        labeller=None if config.labeller is None else str(config.labeller),
        rescores=config.rescores,
        sandbox=config.sandbox,
        repetitions=config.repetitions,
        refinement_rounds=config.refinement_rounds,
        feedback=config.feedback if config.refinement_rounds else (),
        tasks=len(tasks),
        dashboard=run.dashboard,
        error=run.error,
    )


def _agent(
    agent: AgentSpec,
    results: Sequence[TrialResult],
    tasks: Mapping[str, Task],
    rule: SuccessRule,
    turns: Mapping[str, float],
) -> AgentSummary:
    scored = [r for r in results if r.root_score is not None]
    errors = [r for r in results if r.is_infrastructure_error]
    leaves = leaf_scores(scored, tasks)
    return AgentSummary(
        agent=agent.name,
        is_control=agent.is_control,
        trials=len(results),
        scored=len(scored),
        errors=len(errors),
        pending=sum(r.score is None and not r.is_infrastructure_error for r in results),
        root_score=_root_score(scored),
        **success_rates(scored, tasks, rule),
        leaf_sr=_mean([score > rule.threshold for _, _, score in leaves]),
        coverage=_mean([r.score.root.coverage for r in results if r.score is not None]),
        category=_grouped(results, lambda r: r.trial.category),
        category_pooled=_pooled_by_category(scored),
        deliverable_type=_by_deliverable(leaves, tasks),
        tier=_grouped(results, lambda r: r.trial.tier),
        score_per_usd=_score_per_usd(scored),
        judge_cost_usd=_judging(results).cost_usd,
        user_cost_usd=_talking(results).cost_usd,
        labeller_cost_usd=_labelling(results).cost_usd,
        failures=_failures(results),
        error_causes=dict(Counter(_cause(r) for r in errors).most_common()),
        steps=_steps(results),
        end_to_end=_end_to_end(results),
        detail=agent_detail(agent, results, tasks, rule, turns, _score_per_usd(scored)),
        **_effort([o for r in results if (o := _finished(r)) is not None]),
    )


def _steps(results: Sequence[TrialResult]) -> StepAccuracy | None:
    """Return the metrics of trials that predicted steps; None of an agent that acts."""
    marks = [(r.trial.task_id, r.score.root.steps) for r in results if r.score is not None]
    return step_accuracy([(task, steps) for task, steps in marks if steps is not None])


def _end_to_end(results: Sequence[TrialResult]) -> EndToEndAccuracy | None:
    """Return the metrics of trials that acted on atomic tasks; None without any."""
    marks = [(r.trial.task_id, r.score.root.end_to_end) for r in results if r.score is not None]
    return end_to_end_accuracy([(task, one) for task, one in marks if one is not None])


def _finished(result: TrialResult) -> TrialOutcome | None:
    """Return the outcome of a trial that the agent ended itself."""
    outcome = result.outcome
    if outcome is None or outcome.status is not OutcomeStatus.FINISHED:
        return None
    return outcome


def _effort(finished: Sequence[TrialOutcome]) -> dict[str, Any]:
    """Return the fields of an agent's summary that say what its trials took."""
    calls, failed = _total(o.tool_calls for o in finished), _total(o.tool_errors for o in finished)
    turns = _total(o.turns for o in finished)
    return {
        "tool_sr": None if not calls or failed is None else 1 - failed / calls,
        "cost_usd": _cost(finished),
        "wall_s": _total(o.wall_seconds for o in finished),
        "turns": None if turns is None or not finished else turns / len(finished),
        "tokens": _total(None if o.usage is None else o.usage.total for o in finished),
    }


def _total(values: Iterable[float | None]) -> float | None:
    """Return the sum, or None where one of them is unknown."""
    known = list(values)
    return None if None in known else sum(value or 0 for value in known)


def _mean(values: Sequence[float]) -> float | None:
    return fmean(values) if values else None


def _root_score(results: Sequence[TrialResult]) -> Estimate:
    known = [(r.root_score, r.trial.task_id) for r in results if r.root_score is not None]
    return _score_estimate(known)


def _score_estimate(scores: Sequence[tuple[float, str]]) -> Estimate:
    return clustered_mean([s for s, _ in scores], [t for _, t in scores], lowest=0, highest=10)


def _by_task(
    results: Sequence[TrialResult], score: Callable[[TrialResult], float | None]
) -> dict[str, list[float]]:
    scores: dict[str, list[float]] = {}
    for result in results:
        known = score(result)
        if known is not None:
            scores.setdefault(result.trial.task_id, []).append(known)
    return scores


def _comparison(
    first: str, second: str, by_agent: Mapping[str, Sequence[TrialResult]]
) -> AgentComparison:
    """Compare first attempts, task by task."""
    tried = [[r for r in by_agent[name] if r.trial.round == 0] for name in (first, second)]
    ours, theirs = (_by_task(results, _least) for results in tried)
    found = compare_by_task(ours, theirs)
    return AgentComparison(
        first=first,
        second=second,
        tasks=found.tasks,
        difference=found.difference,
        difference_range=_difference_range(*tried),
        p_value=found.p_value,
    )


def _difference_range(
    first: Sequence[TrialResult], second: Sequence[TrialResult]
) -> tuple[float, float] | None:
    """Return how far missing verdicts leave the difference open; None where none is missing."""
    if not any(r.score.unanswered_leaves for r in (*first, *second) if r.score is not None):
        return None
    extremes = ((_most, _least), (_least, _most))
    least, most = (
        compare_by_task(_by_task(first, ours), _by_task(second, theirs)).difference.mean
        for ours, theirs in extremes
    )
    return None if least is None or most is None else (least, most)


def _least(result: TrialResult) -> float | None:
    return result.root_score


def _most(result: TrialResult) -> float | None:
    return result.root_score_upper


def _grouped(
    results: Sequence[TrialResult], group: Callable[[TrialResult], str]
) -> dict[str, Estimate]:
    names = sorted({group(r) for r in results})
    found = {name: _root_score([r for r in results if group(r) == name]) for name in names}
    return {name: informative(estimate) for name, estimate in found.items()}


def _pooled_by_category(scored: Sequence[TrialResult]) -> dict[str, Estimate]:
    names = sorted({r.trial.category for r in scored})
    return pooled_by_category(
        {name: _by_task([r for r in scored if r.trial.category == name], _least) for name in names}
    )


def _by_deliverable(
    leaves: Sequence[tuple[TrialResult, Checkpoint, float]], tasks: Mapping[str, Task]
) -> dict[str, Estimate]:
    """Return leaf scores by deliverable type; a leaf that looks at two types counts for both."""
    groups: dict[str, list[tuple[float, str]]] = {}
    for result, checkpoint, score in leaves:
        for kind in _types_looked_at(checkpoint, tasks[result.trial.task_hash]):
            groups.setdefault(kind, []).append((score, result.trial.task_id))
    return {kind: informative(_score_estimate(groups[kind])) for kind in sorted(groups)}


def _types_looked_at(checkpoint: Checkpoint, task: Task) -> set[str]:
    types: dict[str | None, str] = {d.name: d.type.value for d in task.deliverables}
    types |= {name: PurePosixPath(name).suffix.lstrip(".") for name in task.state_files}
    types[None] = ANSWER
    verifier = checkpoint.verifier
    if (check := checked_by_code(verifier)) is not None:
        return {types[check.deliverable]}
    if isinstance(verifier, Judge):
        return {types[name] for name in verifier.deliverables} or {ANSWER}
    return set()


def _cost(outcomes: Sequence[TrialOutcome]) -> float | None:
    """Return the sum in dollars, or None where one price is unknown or nothing has run."""
    known = [o.cost_usd for o in outcomes if o.cost_usd is not None]
    return sum(known) if known and len(known) == len(outcomes) else None


def _judging(results: Sequence[TrialResult]) -> CallEffort:
    return sum((r.judging for r in results), CallEffort())


def _talking(results: Sequence[TrialResult]) -> CallEffort:
    return sum((r.talking for r in results), CallEffort())


def _labelling(results: Sequence[TrialResult]) -> CallEffort:
    return sum((r.labelling for r in results), CallEffort())


def _disagreement(results: Sequence[TrialResult]) -> Estimate | None:
    """Return the mean range of a panel's scores of a leaf, over first attempts."""
    found = [
        (leaf.disagreement, result.trial.task_id)
        for result in results
        if result.trial.round == 0 and result.score is not None
        for leaf in result.score.leaves
        if leaf.disagreement is not None
    ]
    return _score_estimate(found) if found else None


def _score_per_usd(scored: Sequence[TrialResult]) -> float | None:
    """Return root score per dollar (GTA-2, section 4.2.3); None where nothing was paid."""
    cost = _cost([r.outcome for r in scored if r.outcome is not None])
    return sum(r.root_score or 0.0 for r in scored) / cost if cost else None


def _failures(results: Sequence[TrialResult]) -> dict[str, dict[str, int]]:
    labels = [r.diagnosis for r in results if r.diagnosis is not None]
    return {
        "stage": {s.value: sum(d.stage is s for d in labels) for s in FailureStage},
        "type": {t.value: sum(d.type is t for d in labels) for t in FailureType},
        "level": {
            name: sum(getattr(d.levels, name) for d in labels)
            for name in FailureLevels.model_fields
        },
        **{t.value: _named(labels, t) for t in Taxonomy if t is not Taxonomy.INFRASTRUCTURE},
    }


def _named(labels: Sequence[Diagnosis], taxonomy: Taxonomy) -> dict[str, int]:
    """Return the names of a taxonomy that occur, the most frequent first."""
    return dict(
        Counter(
            one.name for d in labels for one in d.labels if one.taxonomy is taxonomy
        ).most_common()
    )


def _cause(result: TrialResult) -> str:
    """Return the first line of why a trial was lost."""
    error = None if result.outcome is None else result.outcome.error
    text = error or result.scoring_error or "no cause was recorded"
    return text.strip().splitlines()[0][:_CAUSE_LENGTH]
