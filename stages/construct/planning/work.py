"""The stage plan_cases: planning cases from finished trials and reference solutions (APB, app. B).

Code cuts the cases and checks them. The words that it cannot write come from a folder in which
people wrote them, or from the refresh's model; settings for which there is neither are left out.
"""

import asyncio
import hashlib
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from environments.models.registry import model_client
from stages.construct.answers.forms import Form
from stages.construct.asking.ask import Asked, Tally, as_is
from stages.construct.case import Case
from stages.construct.material.base import stored_base
from stages.construct.planning.cases.making import Source, make
from stages.construct.planning.cases.rules import faults_of, fingerprint
from stages.construct.planning.sources import trajectories_of
from stages.construct.planning.supplied import FORMS, NOTHING, Supplied, read_supplied
from stages.construct.planning.trajectory import Trajectory
from stages.construct.planning.variations import Variation, deal
from stages.construct.planning.written import OpinionForm, PlanForm
from stages.construct.work import Connect, StepOutcome, due, invalid, walk
from taskdata.errors import BadTaskData, Misuse
from taskdata.schema.construct import (
    Candidate,
    CandidateStatus,
    Construction,
    Origin,
    Refresh,
    RefreshConfig,
    TaskDraft,
)
from taskdata.schema.planning import Infeasibility
from taskdata.schema.run import StageReport
from taskdata.schema.task import Task, Tier
from taskdata.store import Store

STAGE = "plan_cases"
OPINION = "case_opinion"
"""The template that asks whether a case is reasonable."""
REPEATED, FAULTY, UNREASONABLE = "repeated", "faulty", "unreasonable"
"""Verdicts on cases that go to quarantine."""

_MAX_REASON = 1_000
_INFEASIBLE = "infeasible"


def do(store: Store, refresh_id: str, connect: Connect = model_client) -> StageReport:
    """Plan the cases of the refresh, then make every one that is due; idempotent.

    Raises like `work.walk`, and:
        SandboxFailed: a reference solution must be played, and the sandbox does not work.
        BadTaskData: what people wrote is malformed.
    """
    refresh = store.refresh(refresh_id)
    if refresh.config.plan_cases is None:
        raise Misuse(f"refresh {refresh_id!r} makes no planning cases; start one with --plan-cases")
    known = [c for c in store.candidates(refresh_id) if c.origin is Origin.PLAN_CASE]
    if known and not due(store, refresh_id, Construction.GENERATE, _is_plan_case):
        return StageReport(stage=STAGE, run_id=refresh_id, due=0, done=0)
    material = _material(store, refresh)
    if not known:
        store.add_candidates(_candidates(refresh, material))
    writer = _Writer(material)
    report = walk(
        store,
        refresh_id,
        Construction.GENERATE,
        lambda case: _take(case, writer),
        connect,
        _is_plan_case,
    )
    return report.model_copy(update={"stage": STAGE})


@dataclass(frozen=True)
class _Material:
    """What all cases of a refresh are made of."""

    tasks: dict[str, Task]
    """Source tasks by id."""
    trajectories: dict[str, Trajectory]
    supplied: Supplied


def _material(store: Store, refresh: Refresh) -> _Material:
    config = refresh.config
    supplied = NOTHING if config.plan_words is None else read_supplied(Path(config.plan_words))
    tasks = {task.id: task for task in stored_base(store, config.plan_cases)}
    found = trajectories_of(store, list(tasks.values()), supplied.trajectories, config.sandbox)
    if not found:
        raise Misuse(
            f"bank {config.plan_cases!r} has neither a reference solution nor a trial with the "
            "full score, so no planning case can be made of it"
        )
    return _Material(tasks, found, supplied)


def variations_of(
    config: RefreshConfig,
    tasks: Mapping[str, Task],
    trajectories: Mapping[str, Trajectory],
    supplied: Supplied,
) -> tuple[Variation, ...]:
    """Return the cases that a refresh makes of these tasks, by id, and their trajectories."""
    return deal(
        {task_id: len(one.steps) for task_id, one in trajectories.items()},
        {task_id: task.category.value for task_id, task in tasks.items()},
        config.plan_counts,
        lambda task_id, question: config.model is not None or supplied.has(task_id, question),
    )


def _candidates(refresh: Refresh, material: _Material) -> list[Candidate]:
    variations = variations_of(
        refresh.config, material.tasks, material.trajectories, material.supplied
    )
    return [_candidate(refresh, material.tasks[one.task_id], one) for one in variations]


def _candidate(refresh: Refresh, task: Task, variation: Variation) -> Candidate:
    key = hashlib.sha256(f"{refresh.id}\nplan case\n{variation.case_id}".encode()).hexdigest()
    return Candidate(
        id=f"c{key[:15]}",
        refresh_id=refresh.id,
        task_id=variation.case_id,
        tier=Tier.PLANNING,
        origin=Origin.PLAN_CASE,
        exemplar=task.content_hash,
        aim=variation.model_dump_json(exclude_defaults=True),
        stage=Construction.GENERATE,
    )


def _is_plan_case(candidate: Candidate) -> bool:
    return candidate.origin is Origin.PLAN_CASE


@dataclass
class _Writer:
    """Gets the words for cases: each answer once, though several cases need it."""

    material: _Material
    seen: dict[str, str] = field(default_factory=dict)
    """Case by the fingerprint of what it asks."""
    _asked: dict[tuple[str, str], asyncio.Task[Asked[Any]]] = field(default_factory=dict)

    async def write(
        self, case: Case, source: Source, question: str, accept: Callable[[Any], Any]
    ) -> Asked[Any]:
        """Return the answer to a question about a source task; a person's comes first."""
        task_id = source.task.id
        form = form_of(question)
        supplied = self.material.supplied.answer(task_id, question, form)
        if supplied is not None:
            return Asked(accept(supplied), (), Tally(), "")
        asked = self._asked.get((task_id, question))
        if asked is None:
            asking = _ask(case, source, question, form, accept)
            asked = self._asked[task_id, question] = asyncio.create_task(asking)
            return await asked
        # Another case has paid for it.
        first = await asked
        return Asked(first.answer, first.faults, Tally(), first.prompt_version)


def _ask(
    case: Case, source: Source, question: str, form: type[Form], accept: Callable[[Any], Any]
) -> Coroutine[Any, Any, Asked[Any]]:
    name, kind = template_of(question)
    return case.ask(name, context_of(source, kind), form, accept)


def template_of(question: str) -> tuple[str, str]:
    """Return the template of a question, and the kind of unsolvable case that it is about."""
    kind = question if question in tuple(Infeasibility) else ""
    return f"case_{_INFEASIBLE if kind else question}", kind


def form_of(question: str) -> type[Form]:
    """Return the form of the answer to a question."""
    return FORMS.get(question, FORMS[_INFEASIBLE])


def context_of(source: Source, kind: str = "") -> dict[str, Any]:
    """Return what the templates of planning cases may show."""
    task = source.task
    return {
        "query": task.query,
        "files": [file.path for file in task.files],
        "kind": kind,
        "tools": [tool for tool in task.tools if tool != "finish"],
        "steps": [
            {"step": place, "tool": step.tool, "arguments": step.arguments, "gave": step.result}
            for place, step in enumerate(source.trajectory.steps, start=1)
        ],
    }


async def _take(case: Case, writer: _Writer) -> StepOutcome:
    variation = Variation.model_validate_json(case.candidate.aim)
    tally, version = Tally(), None
    try:
        source, asked_plan = await _source(case, writer, variation)
        tally += asked_plan.tally
        if asked_plan.answer is None and asked_plan.faults:
            return invalid(asked_plan)
        written = None
        if variation.question:
            accept = partial(_accepted, source, variation)
            asked = await writer.write(case, source, variation.question, accept)
            tally, version = tally + asked.tally, asked.prompt_version or None
            if asked.answer is None:
                return invalid(asked, tally)
            written = asked.answer
        made = make(variation, source, written)
    except BadTaskData as exc:
        return _stopped(FAULTY, (str(exc),), tally)
    stop = _stop(made, writer)
    if stop is None and case.shop.client is not None:
        opinion = await case.ask(OPINION, shown_of(made), OpinionForm, as_is)
        tally += opinion.tally
        if opinion.answer is None:
            return invalid(opinion, tally)
        if not opinion.answer.reasonable:
            stop = (UNREASONABLE, (opinion.answer.reason or "the model gave no reason",))
    if stop is not None:
        return _stopped(*stop, tally, _draft(made))
    return StepOutcome(
        "made",
        next=Construction.PROVE,
        draft=_draft(made),
        facts={"setting": variation.setting.value, "base": _base_of(variation)},
        tally=tally,
        prompt_version=version,
    )


async def _source(case: Case, writer: _Writer, variation: Variation) -> tuple[Source, Asked[Any]]:
    """Return what the case is made of, with the plan in words where somebody can write it."""
    material, model = writer.material, case.shop.config.model
    task_id = variation.task_id
    source = Source(task=material.tasks[task_id], trajectory=material.trajectories[task_id])
    nothing: Asked[Any] = Asked(None, (), Tally(), "")
    by_people = material.supplied.has(task_id, "plan")
    if not by_people and model is None:
        return source, nothing

    def accept(form: PlanForm) -> PlanForm:
        _require_a_sentence_each(form, source.trajectory)
        return form

    asked = await writer.write(case, source, "plan", accept)
    words = variation.question or "plan"
    is_supplied = material.supplied.has(task_id, words)
    return (
        Source(
            task=source.task,
            trajectory=source.trajectory,
            sentences=asked.answer.steps if asked.answer else (),
            model=None if by_people and is_supplied else str(model),
            reviewer=material.supplied.reviewer if is_supplied else "",
        ),
        asked,
    )


def _require_a_sentence_each(form: PlanForm, trajectory: Trajectory) -> None:
    if len(form.steps) != len(trajectory.steps):
        raise BadTaskData(
            f"steps: {len(form.steps)} sentences for {len(trajectory.steps)} steps; each step "
            "needs exactly one"
        )


def _accepted(source: Source, variation: Variation, form: Form) -> Form:
    """Return the form if the case that is made of it is sound."""
    if faults := faults_of(make(variation, source, form)):
        raise BadTaskData("; ".join(faults)[:_MAX_REASON])
    return form


def _stop(made: Task, writer: _Writer) -> tuple[str, tuple[str, ...]] | None:
    """Return why a case goes to quarantine, None if code finds nothing."""
    if faults := faults_of(made):
        return FAULTY, faults
    earlier = writer.seen.setdefault(fingerprint(made), made.id)
    if earlier != made.id:
        return REPEATED, (f"it asks what case {earlier!r} asks",)
    return None


def _stopped(
    verdict: str, reasons: tuple[str, ...], tally: Tally, draft: TaskDraft | None = None
) -> StepOutcome:
    return StepOutcome(
        verdict,
        status=CandidateStatus.QUARANTINED,
        reason="; ".join(reasons)[:_MAX_REASON],
        reasons=tuple(reason[:_MAX_REASON] for reason in reasons),
        draft=draft,
        tally=tally,
    )


def _draft(task: Task) -> TaskDraft:
    fields = {name: getattr(task, name) for name in TaskDraft.model_fields if name != "files"}
    return TaskDraft.model_validate(fields | {"files": tuple(f.path for f in task.files)})


def _base_of(variation: Variation) -> str | None:
    return None if variation.base is None else variation.base.case_id


def shown_of(made: Task) -> dict[str, Any]:
    """Return what a reader of a whole case is shown."""
    case = made.planning
    plain = {} if case is None else case.model_dump(mode="json", exclude_defaults=True)
    for tool in plain.get("tools", ()):
        tool.pop("parameters", None)
    return {"query": made.query, "case": plain}
