"""The score stage: which trials are due, scoring them, and what came of it.

Scoring looks at what was collected, after the agent's sandbox is gone. Each trial's score is
recorded in its own transaction; a trial that cannot be scored for a reason of ours stays due.
"""

import asyncio
import logging
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from environments.models.limits.alone import alone
from environments.models.limits.shared import Exchange, SharedLimiter, run_limiter
from environments.models.paid import CallWriter
from environments.models.registry import ModelClients
from environments.reaper.owner import working_folder
from environments.reaper.reap import reaped
from environments.sandbox.providers import sandbox_provider
from stages.execute.harness import harness_kind
from stages.score.evidence import TrialEvidence
from stages.score.judge import LeafJudge, RunJudge, no_judge
from stages.score.library import run_check
from stages.score.matching import storable
from stages.score.predicted import predicted_score
from stages.score.rendering import Renderer
from stages.score.tool_results import score_tool_result
from stages.score.tree import aggregate
from taskdata.errors import NightshiftError
from taskdata.schema.checkpoint import Check, Checkpoint, Judge, ScriptCheck, ToolResultCheck
from taskdata.schema.run import OutcomeStatus, Run, RunConfig, StageReport, TrialOutcome
from taskdata.schema.scores import LeafScore, TrialScore
from taskdata.schema.task import Task
from taskdata.schema.views import RenderedDeliverable
from taskdata.store import Store

STAGE = "score"
SCORER_VERSION = "1"
"""Of aggregation and rendering; checks and the judge's prompt carry versions of their own."""

_logger = logging.getLogger(__name__)
_MAX_CAUSE = 500


@dataclass(frozen=True)
class _Bench:
    store: Store
    config: RunConfig
    renderer: Renderer
    judge: RunJudge | None


def due(store: Store, run_id: str, round_: int) -> list[str]:
    """Return the ids of the round's trials that have finished and are not scored."""
    return [trial.id for trial in store.trials_due_for_scoring(run_id, round_)]


def score_trials(
    store: Store,
    run_id: str,
    trial_ids: Sequence[str],
    endpoints: Mapping[str, Sequence[str]] | None = None,
    exchange: Exchange | None = None,
) -> int:
    """Score trials concurrently in one event loop and return how many failed for our reasons.

    Args:
        store: Of this process.
        run_id: The run they belong to.
        trial_ids: Those that are scored already, or have not finished, are skipped.
        endpoints: Base URLs of local model servers by model, for a local judge.
        exchange: Carries words to the coordinator of the run's limits and money, which a judge
            keeps to; None: there are no other workers.

    Raises:
        Misuse: The run, its sandbox or its judge cannot be used.
        BudgetExhausted: There is a cap on its money, and what it has cost before is unknown.
        StoreUnavailable: A score could not be recorded; its trial stays due, the others went on.
    """
    run = store.run(run_id)
    limits = run_limiter(run_id, exchange or alone(store, run))
    with limits.running():
        return asyncio.run(_score(store, run, trial_ids, endpoints or {}, limits))


def do(
    store: Store, run_id: str, round_: int, endpoints: Mapping[str, Sequence[str]] | None = None
) -> StageReport:
    """Score the round's due trials in this process and report."""
    started = time.monotonic()
    trial_ids = due(store, run_id, round_)
    if trial_ids:
        score_trials(store, run_id, trial_ids, endpoints)
    done = report(store, run_id, round_, len(trial_ids))
    return done.model_copy(update={"seconds": time.monotonic() - started})


def report(store: Store, run_id: str, round_: int, were_due: int) -> StageReport:
    """Return what became of the trials that were due; `errors` of the unscored were tried."""
    unscored = set(due(store, run_id, round_))
    results = [r for r in store.results(run_id) if r.trial.round == round_]
    causes = [r.scoring_error for r in results if r.trial.id in unscored and r.scoring_error]
    return StageReport(
        stage=STAGE,
        run_id=run_id,
        round=round_,
        due=were_due,
        done=were_due - len(unscored),
        errors=len(causes),
        note=f"first cause: {causes[0]}" if causes else "",
    )


async def _score(
    store: Store,
    run: Run,
    trial_ids: Sequence[str],
    endpoints: Mapping[str, Sequence[str]],
    limits: SharedLimiter,
) -> int:
    slots = asyncio.Semaphore(len(os.sched_getaffinity(0)))
    provider = sandbox_provider(run.config.sandbox)
    purse = None if run.config.max_usd is None else limits.purse
    with reaped(), working_folder() as folder:
        async with ModelClients(limits, purse) as clients, CallWriter(store) as calls:
            bench = _Bench(
                store=store,
                config=run.config,
                renderer=Renderer(provider, store.artifacts, folder, run.id),
                judge=_judge(store, run, clients, calls, endpoints),
            )
            results = await asyncio.gather(
                *(_one(bench, trial_id, slots) for trial_id in dict.fromkeys(trial_ids)),
                return_exceptions=True,
            )
    for result in results:
        if isinstance(result, BaseException):
            raise result
    return sum(1 for scored in results if scored is False)


def _judge(
    store: Store,
    run: Run,
    clients: ModelClients,
    calls: CallWriter,
    endpoints: Mapping[str, Sequence[str]],
) -> RunJudge | None:
    config = run.config
    if config.judge is None:
        return None
    servers = endpoints.get(str(config.judge))
    base_url = servers[0] if servers else config.judge_base_url
    return RunJudge(
        spec=config.judge,
        base_url=base_url,
        client=None if config.replies == "replay" else clients.get(config.judge, base_url),
        replies=config.replies,
        calls=calls,
        store=store,
    )


async def _one(bench: _Bench, trial_id: str, slots: asyncio.Semaphore) -> bool:
    """Score and record one trial; False when scoring it failed."""
    async with slots:
        store = bench.store
        outcome = await asyncio.to_thread(store.outcome, trial_id)
        if outcome is None or outcome.status is not OutcomeStatus.FINISHED:
            return True
        if await asyncio.to_thread(store.score, trial_id) is not None:
            return True
        try:
            score, rendered = await _score_trial(bench, outcome)
        except Exception as exc:
            is_foreseen = isinstance(exc, NightshiftError)
            _logger.warning(
                "trial %s: not scored: %s", trial_id, exc, exc_info=None if is_foreseen else exc
            )
            await asyncio.to_thread(store.record_scoring_error, trial_id, _cause(exc))
            return False
        await asyncio.to_thread(store.record_score, score, rendered)
        _logger.info("trial %s: score %s", trial_id, score.root.score)
        return True


def _cause(exc: Exception) -> str:
    text = str(exc) if isinstance(exc, NightshiftError) else f"{type(exc).__name__}: {exc}"
    return " ".join(storable(text).split())[:_MAX_CAUSE]


async def _score_trial(
    bench: _Bench, outcome: TrialOutcome
) -> tuple[TrialScore, tuple[RenderedDeliverable, ...]]:
    store = bench.store
    trial = await asyncio.to_thread(store.trial, outcome.trial_id)
    task = await asyncio.to_thread(store.task, trial.task_hash)
    transcript = await asyncio.to_thread(store.transcript, outcome.trial_id)
    if transcript is not None and harness_kind(bench.config.agent(trial.agent).harness).predicts:
        root = predicted_score(task, transcript)
        return TrialScore(trial_id=trial.id, root=root, scorer_version=SCORER_VERSION), ()
    rendered = await _render_all(bench, task, outcome)
    evidence = TrialEvidence(
        views={item.name: item.view for item in rendered},
        delivered=tuple(d.name for d in outcome.deliverables),
        final_answer=outcome.final_answer,
        transcript=transcript,
    )
    judge = None if bench.judge is None else await bench.judge.of_trial(trial.id)
    leaves = await _all_leaves(task, judge, evidence)
    root = aggregate(task.checkpoints, {leaf.leaf_id: leaf for leaf in leaves})
    return TrialScore(trial_id=trial.id, root=root, scorer_version=SCORER_VERSION), rendered


async def _render_all(
    bench: _Bench, task: Task, outcome: TrialOutcome
) -> tuple[RenderedDeliverable, ...]:
    """Render what the task asks for; files nobody asked for cannot earn anything."""
    asked = {spec.name for spec in task.deliverables} | task.state_files
    rendered = []
    for deliverable in outcome.deliverables:
        if deliverable.name not in asked:
            continue
        result = await bench.renderer.render(deliverable)
        preview = None
        if result.preview_png is not None:
            preview = await asyncio.to_thread(bench.store.artifacts.put_bytes, result.preview_png)
        rendered.append(
            RenderedDeliverable(
                name=deliverable.name,
                sha256=deliverable.sha256,
                view=result.view,
                preview_png_sha256=preview,
            )
        )
    return tuple(rendered)


async def _all_leaves(
    task: Task, judge: LeafJudge | None, evidence: TrialEvidence
) -> list[LeafScore]:
    """Return every leaf's score; where one cannot be had, the others are paid and kept first."""
    asked = (_leaf(leaf, judge, evidence) for leaf in task.checkpoints.leaves())
    scores, faults = [], []
    for found in await asyncio.gather(*asked, return_exceptions=True):
        if isinstance(found, BaseException):
            faults.append(found)
        else:
            scores.append(found)
    if faults:
        raise faults[0]
    return scores


async def _leaf(leaf: Checkpoint, judge: LeafJudge | None, evidence: TrialEvidence) -> LeafScore:
    verifier = leaf.verifier
    if isinstance(verifier, Check):
        return run_check(leaf.id, verifier, evidence)
    if isinstance(verifier, ToolResultCheck):
        return score_tool_result(leaf.id, verifier, evidence.transcript)
    if isinstance(verifier, Judge) and judge is not None:
        return await judge.score(leaf.id, leaf.requirement, verifier, evidence)
    if isinstance(verifier, ScriptCheck):
        return _not_run(leaf.id, verifier)
    return no_judge(leaf.id)


def _not_run(leaf_id: str, verifier: ScriptCheck) -> LeafScore:
    reason = f"evaluation programs are not run here: {verifier.entry}"
    return LeafScore(leaf_id=leaf_id, score=None, verifier="script", reason=reason)
