"""What a refresh would make of a bank's tasks as planning cases; makes none and asks no model.

Calls and tokens are upper bounds, as for tasks. What a model will write is unknown: a case that is
shown to it counts with twice the tokens in which its words may be written.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import Field

from environments.models.money.prices import price_of
from environments.models.money.spending import require_price
from stages.construct.answers.forms import Form, schema_of
from stages.construct.asking.estimate import COMPLAINT_TOKENS, PlannedAsk, beyond, cost_of
from stages.construct.asking.prompting import prompt, version_of
from stages.construct.material.base import stored_base
from stages.construct.planning.cases.making import Source, make
from stages.construct.planning.sources import known_trajectories
from stages.construct.planning.supplied import NOTHING, Supplied, read_supplied
from stages.construct.planning.trajectory import MAX_TEXT, Trajectory, of_solution
from stages.construct.planning.variations import Variation
from stages.construct.planning.work import (
    OPINION,
    context_of,
    form_of,
    shown_of,
    template_of,
    variations_of,
)
from stages.construct.planning.written import OpinionForm
from taskdata.errors import BadTaskData, Misuse
from taskdata.schema.base import Value
from taskdata.schema.construct import Construction, RefreshConfig, SpendingLimits
from taskdata.schema.planning import Setting
from taskdata.schema.task import Task
from taskdata.store import Store

_WRITTEN_AND_SHOWN = 2
"""Tokens of a case in a prompt, per token in which its words were written."""


class CaseSource(Value):
    """The trajectory that cases of one task would be cut from."""

    task_id: str
    steps: int = Field(ge=1)
    trial_id: str | None = None
    """None: the reference solution."""
    cases: int = Field(ge=0)
    to_be_played: bool = False
    """Whether the reference has to be played first, which no model is asked for."""


class CasesEstimate(Value):
    """What a refresh that makes planning cases would make and ask; calls are upper bounds."""

    bank: str
    cases: dict[str, int]
    """By setting."""
    sources: tuple[CaseSource, ...]
    without: tuple[str, ...] = ()
    """Tasks of which no trajectory is known, so that no case is made of them."""
    left_out: tuple[str, ...] = ()
    """Cases that cannot be made, with the reason."""
    model: str | None = None
    asks: tuple[PlannedAsk, ...] = ()
    calls: int = Field(default=0, ge=0)
    input_tokens: int = Field(default=0, ge=0)
    output_tokens: int = Field(default=0, ge=0)
    cost_usd: float | None = 0.0
    """None: the price of the model, or of a prompt of this length, is unknown."""
    limits: SpendingLimits
    beyond: tuple[str, ...] = ()
    """Limits that the whole refresh could reach; calls beyond them are not made."""


def estimate_cases(store: Store, config: RefreshConfig) -> CasesEstimate:
    """Return what a refresh of this configuration would make and ask now; stores nothing.

    Raises:
        Misuse: It makes no planning cases, the bank does not exist, or a limit in money is set for
            a model of unknown price.
        BadTaskData: What people wrote is malformed.
    """
    if config.plan_cases is None:
        raise Misuse("this refresh makes tasks, not planning cases")
    if config.model is not None:
        require_price(config.limits, price_of(config.model))
    supplied = NOTHING if config.plan_words is None else read_supplied(Path(config.plan_words))
    tasks = {task.id: task for task in stored_base(store, config.plan_cases)}
    known, unplayed = known_trajectories(store, list(tasks.values()), supplied.trajectories)
    trajectories = known | {task.id: _unplayed(task) for task in unplayed}
    waiting = {task.id for task in unplayed}
    sources = {i: Source(task=tasks[i], trajectory=one) for i, one in trajectories.items()}
    made = _Made(config, supplied, sources)
    for variation in variations_of(config, tasks, trajectories, supplied):
        made.add(variation)
    asks = tuple(made.asks())
    read, written = sum(a.input_tokens for a in asks), sum(a.output_tokens for a in asks)
    calls = sum(ask.calls for ask in asks)
    usd = 0.0 if config.model is None else cost_of(asks, price_of(config.model))
    counts = Counter(one.setting for one in made.variations)
    of_task = Counter(one.task_id for one in made.variations)
    return CasesEstimate(
        bank=config.plan_cases,
        cases={setting.value: counts[setting] for setting in Setting},
        sources=tuple(
            CaseSource(
                task_id=task_id,
                steps=len(one.steps),
                trial_id=one.trial_id,
                cases=of_task[task_id],
                to_be_played=task_id in waiting,
            )
            for task_id, one in sorted(trajectories.items())
        ),
        without=tuple(
            sorted(i for i, t in tasks.items() if i not in trajectories and t.planning is None)
        ),
        left_out=tuple(dict.fromkeys(made.left_out)),
        model=None if config.model is None else str(config.model),
        asks=asks,
        calls=calls,
        input_tokens=read,
        output_tokens=written,
        cost_usd=usd,
        limits=config.limits,
        beyond=tuple(beyond(config.limits, calls, read + written, usd)),
    )


def _unplayed(task: Task) -> Trajectory:
    """Return the trajectory of a reference that was not played, with results of most length."""
    if task.reference is None:
        raise BadTaskData(f"task {task.id!r}: has no reference solution")
    result = {"result": "x" * MAX_TEXT}
    steps = tuple(step.model_copy(update=result) for step in task.reference.steps)
    return of_solution(task, task.reference.model_copy(update={"steps": steps}))


@dataclass
class _Made:
    """The cases that would be made, and what a model would be asked for them."""

    config: RefreshConfig
    supplied: Supplied
    sources: Mapping[str, Source]
    variations: list[Variation] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    cuts: dict[str, Task] = field(default_factory=dict)
    """By case id what code alone makes of it: the case itself, or the one that it varies."""

    def add(self, variation: Variation) -> None:
        """Count a case, or say why it cannot be made."""
        try:
            cut = make(variation.base or variation, self.sources[variation.task_id])
        except BadTaskData as exc:
            self.left_out.append(str(exc))
            return
        self.variations.append(variation)
        self.cuts[variation.case_id] = cut

    def asks(self) -> Iterator[PlannedAsk]:
        """Yield what the model would be asked: for words once a task, and about each case."""
        if self.config.model is None:
            return
        asked = dict.fromkeys(
            (one.task_id, question) for one in self.variations for question in _questions(one)
        )
        for task_id, question in asked:
            if not self.supplied.has(task_id, question):
                name, kind = template_of(question)
                context = context_of(self.sources[task_id], kind)
                yield self._planned(task_id, name, context, form_of(question))
        shows = _WRITTEN_AND_SHOWN * self.config.max_reply_tokens
        for one in self.variations:
            context = shown_of(self.cuts[one.case_id])
            yield self._planned(one.case_id, OPINION, context, OpinionForm, shows)

    def _planned(
        self, task_id: str, name: str, context: dict[str, Any], form: type[Form], shows: int = 0
    ) -> PlannedAsk:
        config, times = self.config, self.config.max_asks
        texts = [message.text for message in prompt(name, context).messages]
        texts.append(str(schema_of(form)))
        fixed = shows + sum(len(text.encode("utf-8", "replace")) for text in texts)
        again = config.max_reply_tokens + COMPLAINT_TOKENS
        return PlannedAsk(
            task_id=task_id,
            stage=Construction.GENERATE,
            prompt=version_of(name),
            calls=times,
            input_tokens=times * fixed + (times - 1) * again,
            output_tokens=times * config.max_reply_tokens,
        )


def _questions(variation: Variation) -> Iterator[str]:
    yield "plan"
    if variation.question:
        yield variation.question
