"""What the stages that ask a model share: due candidates, working on them, and recording.

Candidates are worked on concurrently in one event loop. The result for each is stored in its own
transaction as soon as it is known, together with the stage that is due next, so that running a
stage again does only what is missing. A candidate that failed through no fault of its own (no
endpoint, no budget, a bug) stays due; it is never quarantined for that.
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal

from environments.models.money.budget import Spending, total
from environments.models.money.prices import price_of
from environments.models.money.spending import SpendingCap
from environments.models.record.recorder import CallRecorder
from environments.models.registry import model_client
from environments.ports import ModelClient
from stages.construct.asking.ask import Asked, Tally
from stages.construct.asking.fitting import window_of
from stages.construct.assembling import available_files
from stages.construct.case import Case, Workshop, recorded_client
from stages.construct.history import findings_of
from stages.construct.material.base import base_tasks, offered_tools
from stages.construct.safety import masked_draft
from taskdata.errors import BudgetExhausted, NightshiftError, StoreUnavailable
from taskdata.schema.agent import ModelSpec
from taskdata.schema.construct import (
    Candidate,
    CandidateStatus,
    Construction,
    ConstructionStep,
    Refresh,
    TaskDraft,
)
from taskdata.schema.run import StageReport
from taskdata.store import Store
from taskdata.version import code_version

_logger = logging.getLogger(__name__)

Connect = Callable[[ModelSpec, str | None], ModelClient]
"""Makes the client of a model at a base URL, in the event loop in which it is used."""

INVALID = "invalid"
"""The verdict if no answer of the model was usable."""

LEFT_OUT = "left_out"
"""Fact of a step: what its prompts did not show because they would have been too long."""

_MAX_REASON = 1_000


@dataclass(frozen=True)
class StepOutcome:
    """A stage's result for one candidate, and what follows."""

    verdict: str
    next: Construction | None = None
    """The stage that is due next; None: the candidate leaves the flow."""
    status: CandidateStatus | None = None
    reason: str = ""
    """Why the candidate leaves the flow."""
    reasons: tuple[str, ...] = ()
    draft: TaskDraft | None = None
    facts: dict[str, Any] = field(default_factory=dict)
    tally: Tally = field(default_factory=Tally)
    prompt_version: str | None = None


Take = Callable[[Case], Awaitable[StepOutcome]]
"""One stage's work on one candidate."""

Which = Callable[[Candidate], bool]
"""Whether the stage works on a due candidate of this kind."""


def due(
    store: Store, refresh_id: str, stage: Construction, which: Which | None = None
) -> list[Candidate]:
    """Return the candidates of the refresh for which this stage is due."""
    found = store.candidates(refresh_id, stage=stage, status=CandidateStatus.OPEN)
    return found if which is None else [c for c in found if which(c)]


def walk(
    store: Store,
    refresh_id: str,
    stage: Construction,
    take: Take,
    connect: Connect = model_client,
    which: Which | None = None,
    asks: Literal["author", "solver"] = "author",
) -> StageReport:
    """Work on every due candidate, store each result, and report.

    Args:
        store: The store of this process.
        refresh_id: The refresh of the candidates.
        stage: The stage that is due.
        take: The stage's work on one candidate.
        connect: Makes the model's client; for a local model it must know the server.
        which: Selects among the due candidates; None: all.
        asks: Which model of the refresh the work asks: the author of tasks, or the solver.

    Raises:
        Misuse: the refresh, its base bank or its model cannot be used.
        BudgetExhausted: what was spent so far is unknown, so a limit in money cannot be enforced.
        StoreUnavailable: a step could not be stored; its candidate stays due, the others went on.
    """
    started = time.monotonic()
    waiting = due(store, refresh_id, stage, which)
    causes = list[str]()
    if waiting:
        causes = asyncio.run(_walk(store, refresh_id, stage, take, waiting, connect, asks))
    return StageReport(
        stage=stage.value,
        run_id=refresh_id,
        due=len(waiting),
        done=len(waiting) - len(causes),
        errors=len(causes),
        seconds=time.monotonic() - started,
        note=f"first cause: {causes[0]}" if causes else "",
    )


def spent(store: Store, refresh_id: str) -> Spending:
    """Return what the calls of a refresh used, or the most they may have, unfinished steps too.

    For refreshes older than the record of calls, it is what their steps used.
    """
    recorded = Spending(*store.spent_on_refresh(refresh_id))
    steps = (s for c in store.candidates(refresh_id) for s in store.steps(c.id))
    of_steps = total(Spending(s.calls, s.usage.total, s.cost_usd) for s in steps if s.calls)
    return of_steps if of_steps.calls > recorded.calls else recorded


def invalid(asked: Asked[Any], tally: Tally | None = None, **facts: Any) -> StepOutcome:
    """Return the outcome for a candidate without a usable answer of the model."""
    last = asked.faults[-1] if asked.faults else "no answer"
    return StepOutcome(
        INVALID,
        status=CandidateStatus.QUARANTINED,
        reason=f"no answer of the model could be used; the last one: {last}"[:_MAX_REASON],
        reasons=tuple(fault[:_MAX_REASON] for fault in asked.faults),
        facts=facts,
        tally=asked.tally if tally is None else tally,
        prompt_version=asked.prompt_version,
    )


async def _walk(
    store: Store,
    refresh_id: str,
    stage: Construction,
    take: Take,
    waiting: Sequence[Candidate],
    connect: Connect,
    asks: Literal["author", "solver"],
) -> list[str]:
    """Work on the candidates; return the causes of those that failed."""
    refresh = store.refresh(refresh_id)
    config = refresh.config
    slots = asyncio.Semaphore(config.concurrency)
    model = None
    if config.model is not None:
        model = config.solver if asks == "solver" else config.author
    client = None if model is None else connect(*model)
    try:
        async with CallRecorder(store) as calls:
            shop = _workshop(store, refresh, model, client, calls)
            results = await asyncio.gather(
                *(_one(shop, candidate, stage, take, slots) for candidate in waiting),
                return_exceptions=True,
            )
    finally:
        if client is not None:
            await client.close()
    for result in results:
        if isinstance(result, BaseException):
            raise result
    return [cause for cause in results if isinstance(cause, str)]


def _workshop(
    store: Store,
    refresh: Refresh,
    model: tuple[ModelSpec, str | None] | None,
    client: ModelClient | None,
    calls: CallRecorder,
) -> Workshop:
    config = refresh.config
    recorded = window = None
    if model is not None and client is not None:
        before = spent(store, refresh.id)
        cap = SpendingCap(client, config.limits, price_of(model[0]), before)
        recorded = recorded_client(refresh, cap, calls, model)
        window = window_of(model[0], config.max_prompt_tokens, config.max_reply_tokens)
    return Workshop(
        store=store,
        refresh=refresh,
        client=recorded,
        tools=offered_tools(store, config),
        exemplars=base_tasks(store, config.base),
        window=window,
    )


async def _one(
    shop: Workshop,
    candidate: Candidate,
    stage: Construction,
    take: Take,
    slots: asyncio.Semaphore,
) -> str | None:
    """Work on one candidate and store its step; return the cause if that failed."""
    async with slots:
        try:
            case = await asyncio.to_thread(_case, shop, candidate, stage)
            outcome = await take(case)
        except StoreUnavailable:
            raise
        except NightshiftError as exc:
            level = logging.WARNING if isinstance(exc, BudgetExhausted) else logging.ERROR
            _logger.log(level, "candidate %s stays due at %s: %s", candidate.id, stage, exc)
            return f"{candidate.task_id}: {exc}"
        except Exception as exc:  # one candidate must not sink the stage
            _logger.exception("candidate %s could not be taken at %s", candidate.id, stage)
            return f"{candidate.task_id}: {type(exc).__name__}: {exc}"
        await asyncio.to_thread(
            shop.store.record_step,
            _step(case, outcome),
            stage=outcome.next,
            status=outcome.status,
            reason=outcome.reason,
            findings=findings_of(stage, outcome.verdict, outcome.reasons, outcome.facts),
        )
        _logger.info("candidate %s: %s says %s", candidate.id, stage, outcome.verdict)
        return None


def _case(shop: Workshop, candidate: Candidate, stage: Construction) -> Case:
    store = shop.store
    return Case(
        shop=shop,
        candidate=candidate,
        stage=stage,
        steps=tuple(store.steps(candidate.id)),
        draft=store.draft(candidate.id),
        files=available_files(store, candidate),
        overridden=store.overridden_rules([candidate.id]).get(candidate.id, frozenset()),
    )


def _step(case: Case, outcome: StepOutcome) -> ConstructionStep:
    return ConstructionStep(
        candidate_id=case.candidate.id,
        stage=case.stage,
        attempt=case.attempt,
        verdict=outcome.verdict,
        reasons=outcome.reasons,
        draft=outcome.draft and masked_draft(outcome.draft, case.shop.config.safety),
        facts=outcome.facts | ({LEFT_OUT: case.left_out} if case.left_out else {}),
        prompt_version=outcome.prompt_version,
        model_id=outcome.tally.model_id,
        calls=outcome.tally.calls,
        usage=outcome.tally.usage,
        cost_usd=outcome.tally.cost_usd,
        code_version=code_version(),
        at=datetime.now(UTC),
    )
