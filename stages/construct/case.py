"""One candidate at one stage: what is known of it, and how the stage asks the model about it."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, TypeVar

from environments.models.record.client import RecordedClient
from environments.models.record.log import CallLog, Payer
from environments.models.record.recorder import CallRecorder
from environments.ports import ModelClient
from stages.construct.answers.forms import Form, narrowed
from stages.construct.asking.ask import Asked, Asks, ask
from stages.construct.asking.fitting import Window, fitted
from stages.construct.asking.masking import masking
from stages.construct.asking.tokens import tokens_of
from stages.construct.material.attachments import shown_files
from stages.construct.material.checks import described_checks
from stages.construct.material.exemplars import choose, shortened
from stages.construct.rules.book import rulebook
from stages.construct.rules.violation import Rulebook
from taskdata.errors import BadTaskData, Misuse
from taskdata.schema.agent import ModelSpec
from taskdata.schema.construct import (
    Candidate,
    Construction,
    ConstructionStep,
    Refresh,
    RefreshConfig,
    TaskDraft,
)
from taskdata.schema.model_call import CallPurpose
from taskdata.schema.task import InputFile, Task
from taskdata.schema.tool import ToolSpec
from taskdata.store import Store

A = TypeVar("A", bound=Form)
T = TypeVar("T")


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
