"""What is kept of a finished run for the pages that look over many nights."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime

from quality.clusters.grouping import Alike, error_causes, failure_clusters
from quality.history.tools import night_tools
from taskdata.schema.agent import AgentSpec
from taskdata.schema.checkpoint import Check, Judge
from taskdata.schema.gate import GateResult
from taskdata.schema.night import Night, NightCell, NightSettings, NightTask
from taskdata.schema.run import OutcomeStatus, Run, RunConfig, TrialOutcome, TrialResult
from taskdata.schema.success import SuccessRule, TrialVerdict
from taskdata.schema.task import Task
from taskdata.schema.tool_backends import ToolBackends

_SELECTED_SHOWN = 3


def night_of(
    run: Run,
    results: Sequence[TrialResult],
    tasks: Mapping[str, Task],
    gates: Iterable[GateResult] = (),
    *,
    alike: Callable[[], Alike | None] = lambda: None,
    cost_usd: float | None = None,
    finished_at: datetime | None = None,
) -> Night:
    """Return what is kept of `run`.

    Args:
        run: The run.
        results: Its trials of all rounds; only first attempts are kept.
        tasks: Its tasks by content hash.
        gates: The latest result of each of its gates.
        cost_usd: Of everything that was paid for in it; None: a price is unknown.
        finished_at: When it ended, where the run itself does not say yet.
        alike: As for `failure_clusters`.
    """
    first = [result for result in results if result.trial.round == 0]
    ended = run.finished_at or finished_at
    controls = tuple(agent.name for agent in run.config.agents if agent.is_control)
    return Night(
        run_id=run.id,
        created_at=run.created_at,
        finished_at=ended,
        status=run.status.value,
        settings=_settings(run, first),
        controls=controls,
        tasks=tuple(_task(key, tasks[key]) for key in sorted(tasks)),
        cells=_cells(run.config, first),
        clusters=tuple(
            # Trials are named on the run's own page: here there would be too many.
            cluster.model_copy(update={"trial_ids": ()})
            for cluster in failure_clusters(first, tasks, without=controls, alike=alike)
        ),
        tools=night_tools(first, without=controls),
        error_causes=dict(error_causes(first)),
        gates={gate.gate: gate.success for gate in gates},
        cost_usd=cost_usd,
        wall_s=None if ended is None else (ended - run.created_at).total_seconds(),
        confirms=run.config.confirms,
    )


def agent_hash(agent: AgentSpec) -> str:
    """Return the hash of an agent's specification, whatever place its results are imported from."""
    return agent.model_copy(update={"results": None, "results_root": None}).digest()


def _settings(run: Run, results: Sequence[TrialResult]) -> NightSettings:
    config = run.config
    versions = {r.score.scorer_version for r in results if r.score is not None}
    return NightSettings(
        bank=config.bank,
        release_hash=run.release_hash,
        selection=_selection(config),
        judge=config.judge_name,
        tool_backends=_tool_backends(config),
        threshold=config.threshold,
        min_coverage=config.min_coverage,
        scorer_version=", ".join(sorted(versions)) or None,
        sandbox=config.sandbox,
        repetitions=config.repetitions,
        refinement_rounds=config.refinement_rounds,
        code_version=run.code_version,
        agents={agent.name: agent_hash(agent) for agent in config.agents},
        model_ids=_model_ids(results),
    )


def _selection(config: RunConfig) -> str:
    parts = []
    if config.tasks:
        named = ", ".join(config.tasks[:_SELECTED_SHOWN])
        more = len(config.tasks) - _SELECTED_SHOWN
        parts.append(f"tasks {named}" + (f" and {more} more" if more > 0 else ""))
    if config.sample is not None:
        parts.append(f"{config.sample} of each category")
    return "; ".join(parts)


def _tool_backends(config: RunConfig) -> str:
    given = {
        name: getattr(config, name)
        for name, field in ToolBackends.model_fields.items()
        if getattr(config, name) != field.default and not name.endswith("base_url")
    }
    return ", ".join(f"{name}={value}" for name, value in sorted(given.items()))


def _model_ids(results: Sequence[TrialResult]) -> dict[str, str]:
    found: dict[str, set[str]] = defaultdict(set)
    for result in results:
        if result.outcome is not None and result.outcome.model_id:
            found[result.trial.agent].add(result.outcome.model_id)
    return {agent: ", ".join(sorted(ids)) for agent, ids in sorted(found.items())}


def _task(task_hash: str, task: Task) -> NightTask:
    return NightTask(
        task_id=task.id,
        task_hash=task_hash,
        title=task.title,
        tier=task.tier.value,
        category=task.category.value,
        capabilities=tuple(capability.value for capability in task.capabilities),
        deliverable_types=_deliverable_types(task),
        leaves=sum(1 for _ in task.checkpoints.leaves()),
    )


def _deliverable_types(task: Task) -> tuple[str, ...]:
    """Return the types of the deliverables that are looked at, and `answer` where that is."""
    types = {d.type.value for d in task.deliverables}
    for leaf in task.checkpoints.leaves():
        verifier = leaf.verifier
        looks_at_answer = (isinstance(verifier, Check) and verifier.deliverable is None) or (
            isinstance(verifier, Judge) and not verifier.deliverables
        )
        if looks_at_answer:
            types.add("answer")
    return tuple(sorted(types))


def _cells(config: RunConfig, results: Sequence[TrialResult]) -> tuple[NightCell, ...]:
    groups: dict[tuple[str, str], list[TrialResult]] = defaultdict(list)
    for result in results:
        groups[result.trial.agent, result.trial.task_id].append(result)
    return tuple(
        _cell(agent, task_id, sorted(group, key=lambda r: r.trial.repetition), config.success)
        for (agent, task_id), group in sorted(groups.items())
    )


def _cell(agent: str, task_id: str, group: Sequence[TrialResult], rule: SuccessRule) -> NightCell:
    finished = [o for r in group if (o := r.outcome) and o.status is OutcomeStatus.FINISHED]
    turns = [o.turns for o in finished if o.turns is not None]
    return NightCell(
        agent=agent,
        task_id=task_id,
        trial_ids=tuple(r.trial.id for r in group),
        scores=tuple(_score(r) for r in group),
        successes=tuple(_success(r, rule) for r in group),
        errors=sum(r.is_infrastructure_error for r in group),
        cost_usd=_sum([o.cost_usd for o in finished]),
        wall_s=_sum([o.wall_seconds for o in finished]),
        turns=sum(turns) / len(turns) if turns else None,
        tokens=_tokens(finished),
    )


def _score(result: TrialResult) -> float | None:
    return None if result.is_infrastructure_error else result.root_score


def _success(result: TrialResult, rule: SuccessRule) -> bool | None:
    verdict = None if result.is_infrastructure_error else result.verdict(rule)
    if verdict is None or verdict is TrialVerdict.UNDECIDED:
        return None
    return verdict is TrialVerdict.SUCCEEDED


def _sum(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) if len(known) == len(values) else None


def _tokens(finished: Sequence[TrialOutcome]) -> int | None:
    known = [o.usage.total for o in finished if o.usage is not None]
    return sum(known) if len(known) == len(finished) else None
