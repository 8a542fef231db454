"""What the stages that ask a model share: due candidates, working on them, and recording.

Candidates are worked on concurrently in one event loop. The result for each is stored in its own
transaction as soon as it is known, together with the stage that is due next, so that running a
stage again does only what is missing. A candidate that failed through no fault of its own (no
endpoint, no budget, a bug) stays due; it is never quarantined for that.
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any, Literal, TypeVar

from environments.models.money.budget import Spending, total
from environments.models.money.prices import price_of
from environments.models.money.spending import SpendingCap
from environments.models.record.client import RecordedClient
from environments.models.record.log import CallLog, Payer
from environments.models.record.recorder import CallRecorder
from environments.models.registry import model_client
from environments.ports import ModelClient
from stages.construct.answers.forms import Form, narrowed
from stages.construct.asking.ask import Asked, Asks, Tally, ask
from stages.construct.asking.fitting import Window, fitted, window_of
from stages.construct.asking.masking import masking
from stages.construct.asking.tokens import tokens_of
from stages.construct.assembling import available_files
from stages.construct.history import findings_of
from stages.construct.material.attachments import shown_files
from stages.construct.material.base import base_tasks, offered_tools
from stages.construct.material.checks import described_checks
from stages.construct.material.exemplars import choose, shortened
from stages.construct.rules.book import rulebook
from stages.construct.rules.violation import Rulebook
from stages.construct.safety import masked_draft
from taskdata.errors import (
    BadTaskData,
    BudgetExhausted,
    Misuse,
    NightshiftError,
    StoreUnavailable,
)
from taskdata.schema.agent import ModelSpec
from taskdata.schema.construct import (
    Candidate,
    CandidateStatus,
    Construction,
    ConstructionStep,
    Refresh,
    RefreshConfig,
    TaskDraft,
)
from taskdata.schema.model_call import CallPurpose
from taskdata.schema.run import StageReport
from taskdata.schema.task import InputFile, Task
from taskdata.schema.tool import ToolSpec
from taskdata.store import Store
from taskdata.version import code_version

_logger = logging.getLogger(__name__)

A = TypeVar("A", bound=Form)
T = TypeVar("T")

Connect = Callable[[ModelSpec, str | None], ModelClient]
"""Makes the client of a model at a base URL, in the event loop in which it is used."""

INVALID = "invalid"
"""The verdict if no answer of the model was usable."""

LEFT_OUT = "left_out"
"""Fact of a step: what its prompts did not show because they would have been too long."""

_MAX_REASON = 1_000


@dataclass(frozen=True)
class Workshop:
    """What all candidates of one pass share; a refresh that asks no model has no client."""

    store: Store
    refresh: Refresh
    client: RecordedClient | None
    tools: tuple[ToolSpec, ...]
    exemplars: tuple[Task, ...]
    """Tasks of the base bank, from which exemplars are chosen for each candidate."""
    window: Window | None
    """How long prompts and replies may be; None, as the client: no model is asked."""

    @property
    def config(self) -> RefreshConfig:
        """How the refresh is done."""
        return self.refresh.config


@dataclass(frozen=True)
class Case:
    """One candidate at one stage, with all that is known of it."""

    shop: Workshop
    candidate: Candidate
    stage: Construction
    steps: tuple[ConstructionStep, ...]
    draft: TaskDraft | None
    """The current draft; None before the first."""
    files: Mapping[str, InputFile]
    """Files that the task may use, by path."""
    overridden: frozenset[str] = frozenset()
    """Rules that a person lets the draft break."""
    left_out: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """What prompts did not show because they would have been too long, by their version."""

    @property
    def window(self) -> Window:
        """How long prompts and replies may be.

        Raises:
            Misuse: the refresh asks no model.
        """
        if self.shop.window is None:
            raise Misuse("this refresh asks no model; start another one with --model")
        return self.shop.window

    @property
    def attempt(self) -> int:
        """How often the candidate has been at this stage, from 1."""
        return 1 + sum(step.stage is self.stage for step in self.steps)

    @property
    def book(self) -> Rulebook:
        """The rules for the draft."""
        offered = frozenset(spec.name for spec in self.shop.tools)
        return rulebook(
            self.candidate,
            frozenset(self.files),
            offered,
            self.shop.config.safety,
            self.overridden,
        )

    def drafted(self) -> TaskDraft:
        """Return the draft.

        Raises:
            BadTaskData: if there is none, because the candidate was wrongly made due.
        """
        if self.draft is None:
            raise BadTaskData(f"candidate {self.candidate.id!r} is at {self.stage} without a draft")
        return self.draft

    def context(self) -> dict[str, Any]:
        """Return the values that the templates of every stage may show."""
        book = self.book
        atomic, workflow = book.tree.atomic_leaves, book.tree.workflow_leaves
        exemplars = choose(self.candidate, self.shop.exemplars, self.shop.config.exemplars)
        return {
            "tier": self.candidate.tier.value,
            "leaves": workflow if self.candidate.tier == "workflow" else atomic,
            "checkable_share": book.tree.min_checkable_share,
            "requirement_length": book.tree.requirement_length,
            "tools": self.shop.tools,
            "checks": described_checks(),
            "exemplars": [shortened(task) for task in exemplars],
            "files": shown_files(self.files, self.shop.store.artifacts),
            "wanted_tools": book.wanted_tools,
        }

    async def ask(
        self,
        name: str,
        context: Mapping[str, Any],
        form: type[A],
        accept: Callable[[A], T],
        times: int | None = None,
        choices: Mapping[str, Sequence[str]] = MappingProxyType({}),
        schema: dict[str, Any] | None = None,
    ) -> Asked[T]:
        """Ask the model with the template of that name; see `stages.construct.asking.ask`.

        It is asked at most `times` times; None: as often as configured. `choices` are those of
        `forms.narrowed`, unless there is a `schema`. What the prompt has to leave out is noted in
        `left_out`.
        """
        config, client, window = self.shop.config, self.shop.client, self.window
        if client is None:
            raise Misuse("this refresh asks no model; start another one with --model")
        schema = schema or narrowed(form, choices, bounded=window.is_local)
        room = window.prompt_tokens - (0 if window.is_local else tokens_of((), schema))
        opening = await asyncio.to_thread(fitted, name, context, room)
        if opening.left_out:
            self.left_out[opening.version] = opening.left_out
        owner = f"{self.candidate.id}/{self.stage}/{self.attempt}"
        return await ask(
            client.owned_by(payer_of(self.shop.refresh.id, owner)),
            opening,
            form,
            accept,
            Asks(times or config.max_asks, window.reply_tokens, room, window.temperature),
            schema,
        )


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


def recorded_client(
    refresh: Refresh,
    client: ModelClient | None,
    calls: CallRecorder,
    model: tuple[ModelSpec, str | None] | None = None,
) -> RecordedClient:
    """Return the client of a refresh's model, from which each piece of work derives its own.

    The model is given with its endpoint; None: the one that writes tasks.
    """
    log = CallLog(calls, payer_of(refresh.id, owner=""))
    client = client and masking(client, refresh.config.safety)
    return RecordedClient(client, *(model or refresh.config.author), log, shares=True)


def payer_of(refresh_id: str, owner: str) -> Payer:
    """Return the payer of the calls of one piece of a refresh's work."""
    return Payer(CallPurpose.CONSTRUCTION, owner, refresh_id=refresh_id)


def task_choices(case: Case) -> dict[str, list[str]]:
    """Return what a task may choose from: tools and attachments."""
    return {"tools": [spec.name for spec in case.shop.tools], "files": sorted(case.files)}


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
    exemplars = base_tasks(store, config.base)
    before = spent(store, refresh_id)
    slots = asyncio.Semaphore(config.concurrency)
    model = None
    if config.model is not None:
        model = config.solver if asks == "solver" else config.author
    client = None if model is None else connect(*model)
    try:
        async with CallRecorder(store) as calls:
            recorded = None
            if client is not None and model is not None:
                cap = SpendingCap(client, config.limits, price_of(model[0]), before)
                recorded = recorded_client(refresh, cap, calls, model)
            shop = Workshop(
                store=store,
                refresh=refresh,
                client=recorded,
                tools=offered_tools(store, config),
                exemplars=exemplars,
                window=None
                if model is None
                else window_of(model[0], config.max_prompt_tokens, config.max_reply_tokens),
            )
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
