"""The score stage: which trials are due, scoring them, and what came of it.

Scoring looks at what was collected, after the agent's sandbox is gone. Each trial's score is
recorded in its own transaction; a trial that cannot be scored for a reason of ours stays due.
Trials with judged leaves and trials without share the slots, so that a judge which does not answer
delays its own trials alone.
"""

import asyncio
import logging
import os
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from environments.models.limits.coordinator import Exchange
from environments.models.retry import is_silence
from environments.renderers.pages.formats import DRAWN, PAGED
from environments.services.starting import ServiceHost
from stages.execute.harness import harness_kind
from stages.score.asked_again import with_answers
from stages.score.checking.leaves import check_leaves, prepare_to_check
from stages.score.evidence import TrialEvidence
from stages.score.found_files import looked_at, with_found_files
from stages.score.judging.judge import RunJudge, no_judge
from stages.score.judging.panel import RunPanel, TrialPanel
from stages.score.judging.questions import asked_together
from stages.score.judging.sight import sight_of
from stages.score.matching import storable
from stages.score.metrics import similarity_for, with_metrics
from stages.score.planning.scored import SeatJudges, plan_score, seated
from stages.score.predicted import predicted_score
from stages.score.rendering.deliverables import render_all
from stages.score.rendering.listening import Listener
from stages.score.rendering.pages import PageDrawer
from stages.score.rendering.reading import PictureReader
from stages.score.rendering.views import Renderer
from stages.score.scripts.running import ScriptRunner
from stages.score.tool_results import score_tool_result
from stages.score.tree import aggregate
from stages.workers.backlog import NO_MODEL, Backlog, TakeTrials, provider_of
from stages.workers.deadline import NO_DEADLINE, StageEnd
from stages.workers.shift import WorkerContext, WorkOnTrial, run_shift
from taskdata.errors import NightshiftError
from taskdata.schema.checkpoint import Checkpoint, Judge, PlanGrade, ToolResultCheck
from taskdata.schema.panel import JudgeSpec
from taskdata.schema.run import RunConfig, StageReport, Trial
from taskdata.schema.scores import LeafScore, TrialScore
from taskdata.schema.task import Task
from taskdata.schema.transcript import Transcript
from taskdata.schema.views import RenderedDeliverable
from taskdata.store import Store
from taskdata.store.trials import ScoringDue

STAGE = "score"
SCORER_VERSION = "2"
"""Of aggregation and rendering; checks and the judge's prompt carry versions of their own."""

_logger = logging.getLogger(__name__)
_MAX_CAUSE = 500
_PUBLISHED = ("evaluation", "rescoring")
"""Purposes of runs that have a dashboard."""
_HOME = Path(".nightshift")
_LEAST_SLOTS = 2
"""One for trials with a judge, one for those without."""


@dataclass(frozen=True)
class _ScoreContext:
    """What scoring the trials of one shift shares."""

    worker: WorkerContext
    renderer: Renderer
    scripts: ScriptRunner
    drawer: PageDrawer | None
    """None: no pictures of pages are wanted."""
    listener: Listener
    reader: PictureReader | None
    """None: no judge sees pictures."""
    judge: RunPanel | None


def due(store: Store, run_id: str, round_: int) -> list[str]:
    """Return the ids of the round's trials that have finished and are not scored."""
    return [trial.id for trial in store.trials_due_for_scoring(run_id, round_)]


def by_judge(store: Store, run_id: str, trial_ids: Sequence[str]) -> dict[str, list[str]]:
    """Return the trials by the provider that judges leaves of theirs, as a backlog takes them."""
    config, judged = store.run(run_id).config, set[str]()
    if config.every_judge and not config.plays_back:
        tasks = store.tasks_of_run(run_id)
        asked = {hash_ for hash_, task in tasks.items() if _has_judged_leaves(task)}
        predicting = {one.name for one in config.agents if harness_kind(one.harness).predicts}
        judged = {
            trial.id
            for trial in store.trials(run_id)
            if trial.task_hash in asked and trial.agent not in predicting
        }
    lines: dict[str, list[str]] = {}
    # All judges of a panel are asked about each of its trials.
    judge = " and ".join(
        dict.fromkeys(provider_of(one.model, one.base_url) for one in config.every_judge)
    )
    for trial_id in trial_ids:
        lines.setdefault(judge if trial_id in judged else NO_MODEL, []).append(trial_id)
    return lines


def _has_judged_leaves(task: Task) -> bool:
    judged = (Judge, PlanGrade)
    return any(isinstance(leaf.verifier, judged) for leaf in task.checkpoints.leaves())


def score_trials(
    store: Store,
    run_id: str,
    trial_ids: Sequence[str],
    endpoints: Mapping[str, Sequence[str]] | None = None,
    home: Path = _HOME,
) -> int:
    """Score trials in this process, which is the only worker of the run.

    The arguments and errors are those of `score_until_empty`.
    """
    backlog = Backlog.of(by_judge(store, run_id, trial_ids))
    failed = score_until_empty(store, run_id, backlog.exchange, endpoints or {}, home=home)
    record_given_up(store, backlog.given_up)
    return failed + sum(len(given_up) for given_up in backlog.given_up.values())


def score_until_empty(
    store: Store,
    run_id: str,
    take: TakeTrials,
    endpoints: Mapping[str, Sequence[str]],
    exchange: Exchange | None = None,
    ends: StageEnd = NO_DEADLINE,
    home: Path = _HOME,
) -> int:
    """Score trials of a backlog until it has none; return how many failed for our reasons.

    Args:
        store: This process's store.
        run_id: The run that the trials belong to.
        take: Takes trials from the backlog; those that are scored already, or have not finished,
            are skipped.
        endpoints: Base URLs of local model servers by model, for a local judge.
        exchange: Carries messages to the coordinator of the run's limits and money, which hold for
            the judge; None: this worker is the only one.
        ends: The stage's deadline, in seconds since the epoch: no trial is begun after it.
        home: Where files are that take long to make, such as a database server's.

    Raises:
        Misuse: The run, its sandbox or its judge cannot be used.
        StoreUnavailable: A score could not be recorded; its trial stays due, the others went on.
    """
    run, failed = store.run(run_id), 0

    @asynccontextmanager
    async def opened(worker: WorkerContext) -> AsyncIterator[WorkOnTrial]:
        prepare_to_check()
        shared = _shared(worker, endpoints, home)

        async def score(trial_id: str) -> None:
            nonlocal failed
            was_scored = await _score(shared, trial_id)
            failed += not was_scored

        try:
            yield score
        finally:
            await shared.renderer.close()

    slots = max(_LEAST_SLOTS, len(os.sched_getaffinity(0)))
    run_shift(store, run, take, opened, slots=slots, exchange=exchange, ends=ends)
    return failed


def record_given_up(store: Store, given_up: Mapping[str, Sequence[str]]) -> None:
    """Record why trials were not scored that a backlog has given up, by the cause."""
    for cause, trial_ids in given_up.items():
        for trial_id in trial_ids:
            store.record_scoring_error(trial_id, cause)


def do(
    store: Store,
    run_id: str,
    round_: int,
    endpoints: Mapping[str, Sequence[str]] | None = None,
    home: Path = _HOME,
) -> StageReport:
    """Score the round's due trials in this process and report."""
    started = time.monotonic()
    trial_ids = due(store, run_id, round_)
    if trial_ids:
        score_trials(store, run_id, trial_ids, endpoints, home)
    done = report(store, run_id, round_, len(trial_ids))
    return done.model_copy(update={"seconds": time.monotonic() - started})


def report(store: Store, run_id: str, round_: int, were_due: int) -> StageReport:
    """Return what became of the trials that were due; `errors` of the unscored were tried."""
    unscored, errors = due(store, run_id, round_), store.scoring_errors(run_id, round_)
    causes = [errors[trial_id] for trial_id in unscored if errors.get(trial_id)]
    return StageReport(
        stage=STAGE,
        run_id=run_id,
        round=round_,
        due=were_due,
        done=were_due - len(unscored),
        errors=len(causes),
        note=f"first cause: {causes[0]}" if causes else "",
    )


def _shared(
    worker: WorkerContext, endpoints: Mapping[str, Sequence[str]], home: Path
) -> _ScoreContext:
    store, run, provider, folder = worker.store, worker.run, worker.provider, worker.folder
    kinds = _drawn(run.config)
    return _ScoreContext(
        worker=worker,
        renderer=Renderer(provider, store.artifacts, folder, run.id),
        scripts=ScriptRunner(ServiceHost(store.artifacts, provider, folder, home, run.id)),
        drawer=PageDrawer(provider, store, folder, run.id, kinds) if kinds else None,
        listener=Listener(provider, store, folder, run.id),
        reader=PictureReader(provider, store, folder, run.id) if _is_seen(run.config) else None,
        judge=_judge(worker, endpoints),
    )


def _drawn(config: RunConfig) -> frozenset[str]:
    """Return the endings of the files of which pictures are wanted."""
    if _is_seen(config):
        return DRAWN
    has_viewers = config.page_pictures and config.purpose in _PUBLISHED
    return PAGED if has_viewers else frozenset()


def _is_seen(config: RunConfig) -> bool:
    """Return whether a judge sees pictures."""
    sights = (sight_of(one.model, one.base_url, config.judging) for one in config.every_judge)
    return any(sight.sees for sight in sights)


def _judge(worker: WorkerContext, endpoints: Mapping[str, Sequence[str]]) -> RunPanel | None:
    config = worker.run.config
    judges = [_seated(worker, judge, endpoints) for judge in config.every_judge]
    return RunPanel(judges, config.panel, config.threshold) if judges else None


def _seated(
    worker: WorkerContext, judge: JudgeSpec, endpoints: Mapping[str, Sequence[str]]
) -> RunJudge:
    config = worker.run.config
    servers = endpoints.get(str(judge.model))
    base_url = servers[0] if servers else judge.base_url
    asks = config.replies != "replay"
    return RunJudge(
        spec=judge.model,
        base_url=base_url,
        client=worker.clients.get(judge.model, base_url) if asks else None,
        replies=config.replies,
        calls=worker.calls,
        store=worker.store,
        settings=config.judging,
    )


async def _score(shared: _ScoreContext, trial_id: str) -> bool:
    """Score and record one trial; False when scoring it failed."""
    store = shared.worker.store
    scored = await asyncio.to_thread(store.scoring_due, trial_id)
    if scored is None:
        return True
    try:
        score, rendered = await _score_trial(shared, scored)
    except Exception as exc:
        if is_silence(exc):
            shared.worker.holder.unanswered(trial_id)
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
    shared: _ScoreContext, scored: ScoringDue
) -> tuple[TrialScore, tuple[RenderedDeliverable, ...]]:
    store, (trial, outcome) = shared.worker.store, scored
    task, transcript = await asyncio.to_thread(_read, store, scored)
    config = shared.worker.run.config
    agent = config.agent(trial.agent)
    if transcript is not None and harness_kind(agent.harness).predicts:
        similarity = similarity_for(task, config.sentence_encoder)
        root = await asyncio.to_thread(predicted_score, task, transcript, similarity)
        return TrialScore(trial_id=trial.id, root=root, scorer_version=SCORER_VERSION), ()
    if task.planning is not None:
        root = await plan_score(task, transcript, await _plan_judges(shared, trial, task))
        return TrialScore(trial_id=trial.id, root=root, scorer_version=SCORER_VERSION), ()
    left = [file for file in outcome.deliverables if not task.is_answer(file.name)]
    names = [file.name for file in left]
    task = with_found_files(task, names)
    task, unanswered = await asyncio.to_thread(
        with_answers, task, outcome.deliverables, store.artifacts.read_bytes
    )
    asked = looked_at(task)
    is_judged = shared.judge is not None and _has_judged_leaves(task)
    listener, reader = (shared.listener, shared.reader) if is_judged else (None, None)
    renderer, drawer, artifacts = shared.renderer, shared.drawer, store.artifacts
    files = await render_all(left, asked, renderer, drawer, listener, reader, artifacts)
    evidence = TrialEvidence.of_trial(task, outcome, transcript, names, files)
    judge = await _trial_judge(shared, trial, evidence)
    checked = await check_leaves(task.checkpoints.leaves(), evidence)
    checked |= await shared.scripts.score(task, outcome, transcript) | unanswered
    leaves = await _all_leaves(task, checked, judge, evidence)
    root = aggregate(
        task.checkpoints,
        {leaf.leaf_id: leaf for leaf in leaves},
        weightless_is_0=task.provenance.as_published,
    )
    root = await asyncio.to_thread(with_metrics, root, task, transcript, config.sentence_encoder)
    return TrialScore(trial_id=trial.id, root=root, scorer_version=SCORER_VERSION), files


async def _plan_judges(shared: _ScoreContext, trial: Trial, task: Task) -> SeatJudges | None:
    """Return what seats the judges of a plan, None if the run has none."""
    panel, worker = shared.judge, shared.worker
    if panel is None:
        return None
    answered = partial(worker.holder.answered, trial.id)
    copy_of = await asyncio.to_thread(_copy_of, worker.store, trial, worker.run.config)
    return partial(seated, panel, task, worker.store.artifacts, trial.id, answered, copy_of)


def _read(store: Store, scored: ScoringDue) -> tuple[Task, Transcript | None]:
    return store.task(scored.trial.task_hash), store.transcript_of(scored.outcome)


def _copy_of(store: Store, trial: Trial, config: RunConfig) -> str | None:
    """Return the trial of the source whose verdicts are not asked for again, or None."""
    if config.rescores is None or not config.keeps_verdicts:
        return None
    return store.source_of(trial, config.rescores)


async def _trial_judge(
    shared: _ScoreContext, trial: Trial, evidence: TrialEvidence
) -> TrialPanel | None:
    """Return who judges the trial, None if the run has no judge."""
    panel, worker = shared.judge, shared.worker
    if panel is None:
        return None
    answered = partial(worker.holder.answered, trial.id)
    copy_of = await asyncio.to_thread(_copy_of, worker.store, trial, worker.run.config)
    return await panel.of_trial(trial.id, evidence, answered, copy_of)


async def _all_leaves(
    task: Task,
    checked: Mapping[str, LeafScore],
    judge: TrialPanel | None,
    evidence: TrialEvidence,
) -> list[LeafScore]:
    """Return every leaf's score; where one cannot be had, the others are paid and kept first."""
    groups = [] if judge is None else asked_together(task.checkpoints)
    asked = [] if judge is None else [judge.score_group(group) for group in groups]
    scores, faults = list(checked.values()), []
    for found in await asyncio.gather(*asked, return_exceptions=True):
        if isinstance(found, BaseException):
            faults.append(found)
        else:
            scores += found
    if faults:
        raise faults[0]
    scored = {score.leaf_id for score in scores}
    rest = (leaf for leaf in task.checkpoints.leaves() if leaf.id not in scored)
    return [*scores, *(_unjudged(leaf, evidence) for leaf in rest)]


def _unjudged(leaf: Checkpoint, evidence: TrialEvidence) -> LeafScore:
    if isinstance(leaf.verifier, ToolResultCheck):
        return score_tool_result(leaf.id, leaf.verifier, evidence.transcript)
    return no_judge(leaf.id)
