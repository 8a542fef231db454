"""The expand stage: new atomic tasks from exemplars, each with a recorded chain (GTA, 3.2 and 3.3).

A model writes question, chain and answer; then the tools run the chain. A task whose tool
misbehaves, or whose answer is not shown by the results, is dropped.
"""

import asyncio
import hashlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from environments.models.registry import model_client
from environments.ports import SandboxProvider
from environments.reaper.owner import working_folder
from environments.reaper.reap import reaped
from environments.sandbox.providers import sandbox_provider
from environments.tool_runtime.catalogue import as_markdown
from environments.tool_runtime.toolbox import ALWAYS_PRESENT
from environments.tools.session.finish import FINISH
from stages.construct.assembling import assembled
from stages.construct.atomic.answer import unsupported
from stages.construct.atomic.drafting import drafted, groups_of
from stages.construct.atomic.form import AtomicForm
from stages.construct.atomic.ways import (
    Way,
    answering_tools,
    deal,
    involved_tools,
    is_exemplar,
    way_of,
)
from stages.construct.case import Case
from stages.construct.material.base import stored_base
from stages.construct.proof.recording import Recording, record_chain, task_files
from stages.construct.rules.book import require, violations
from stages.construct.work import Connect, StepOutcome, invalid, walk
from stages.score.matching import fold
from taskdata.errors import BadTaskData, SandboxFailed
from taskdata.schema.construct import (
    Candidate,
    CandidateStatus,
    Construction,
    Origin,
    Refresh,
    TaskDraft,
)
from taskdata.schema.run import StageReport
from taskdata.schema.task import Task, Tier
from taskdata.store import Store

STAGE = "expand"
MISBEHAVED = "misbehaved"
"""The verdict if a tool of the chain failed or returned nothing."""
UNSUPPORTED = "unsupported"
"""The verdict if no tool result shows the answer."""

_SHOWN_RESULT = 4_000
_MAX_REASON = 1_000


def do(store: Store, refresh_id: str, connect: Connect = model_client) -> StageReport:
    """Plan the requested expansions, then draft and record every one that is due.

    Raises like `work.walk`, and:
        SandboxFailed: the sandbox does not work on this machine.
    """
    refresh = store.refresh(refresh_id)
    plan(store, refresh)
    provider = sandbox_provider(refresh.config.sandbox)
    if reason := provider.unavailable():
        raise SandboxFailed(f"sandbox {refresh.config.sandbox}: {reason}")
    with reaped(), working_folder() as folder:
        recorder = _Recorder(provider, folder)
        report = walk(
            store,
            refresh_id,
            Construction.GENERATE,
            lambda case: _take(case, recorder),
            connect,
            _is_expansion,
        )
    return report.model_copy(update={"stage": STAGE})


def plan(store: Store, refresh: Refresh) -> int:
    """Store a candidate for each requested expansion; return how many are new; idempotent."""
    base = stored_base(store, refresh.config.base)
    exemplars = sorted(filter(is_exemplar, base), key=lambda task: task.id)
    candidates = []
    for variation in deal(exemplars, refresh.config.expansions):
        exemplar, number = variation.exemplar, variation.number
        key = f"{refresh.id}\nexpansion\n{exemplar.id}\n{number}"
        digest = hashlib.sha256(key.encode()).hexdigest()
        candidates.append(
            Candidate(
                id=f"c{digest[:15]}",
                refresh_id=refresh.id,
                task_id=f"{exemplar.id[:60]}-{number}-{digest[:6]}",
                tier=Tier.ATOMIC,
                origin=Origin.EXPANSION,
                exemplar=exemplar.content_hash,
                aim=variation.aim,
                stage=Construction.GENERATE,
            )
        )
    return store.add_candidates(candidates)


def _is_expansion(candidate: Candidate) -> bool:
    return candidate.origin is Origin.EXPANSION


@dataclass
class _Recorder:
    """Runs chains in sandboxes; the chain of an exemplar once for all its variations."""

    provider: SandboxProvider
    folder: Path
    _of_exemplars: dict[str, asyncio.Task[Recording]] = field(default_factory=dict)

    async def record(self, store: Store, task: Task) -> Recording:
        files = await asyncio.to_thread(task_files, store, task)
        return await record_chain(task, files, self.provider, self.folder)

    async def record_exemplar(self, store: Store, task: Task) -> Recording:
        known = self._of_exemplars
        if task.content_hash not in known:
            known[task.content_hash] = asyncio.create_task(self.record(store, task))
        return await known[task.content_hash]


async def _take(case: Case, recorder: _Recorder) -> StepOutcome:
    store, candidate = case.shop.store, case.candidate
    exemplar = await asyncio.to_thread(store.task, candidate.exemplar or "")
    way = way_of(candidate.aim)

    def accept(form: AtomicForm) -> tuple[TaskDraft, AtomicForm]:
        draft = drafted(form, exemplar, way)
        require(violations(draft, case.book))
        if fold(draft.query) in _taken(case):
            raise BadTaskData("query: this question was asked before; ask another one")
        return draft, form

    context = await _context(case, exemplar, way, recorder)
    asked = await case.ask("expand", context, AtomicForm, accept)
    if asked.answer is None:
        return invalid(asked)
    draft, form = asked.answer
    task = await asyncio.to_thread(assembled, store, candidate, draft)
    recording = await recorder.record(store, task)
    results = [step.result or "" for step in recording.solution.steps]
    unseen = None if recording.faults else unsupported(groups_of(form), results)
    faults = (*recording.faults, *([unseen] if unseen else ()))
    return StepOutcome(
        (UNSUPPORTED if unseen else MISBEHAVED) if faults else "drafted",
        next=None if faults else Construction.VALIDATE,
        status=CandidateStatus.QUARANTINED if faults else None,
        reason="; ".join(faults)[:_MAX_REASON],
        reasons=tuple(fault[:_MAX_REASON] for fault in faults),
        draft=draft.model_copy(update={"reference": recording.solution}),
        facts={"way": way.name.lower(), "answers_refused": list(asked.faults)},
        tally=asked.tally,
        prompt_version=asked.prompt_version,
    )


async def _context(case: Case, exemplar: Task, way: Way, recorder: _Recorder) -> dict[str, Any]:
    recording = await recorder.record_exemplar(case.shop.store, exemplar)
    involved = involved_tools(exemplar)
    offered = {*answering_tools(), *involved, *ALWAYS_PRESENT} - {FINISH}
    specs = [spec for spec in case.shop.tools if spec.name in offered]
    context = await asyncio.to_thread(case.context)
    return context | {
        "tool_documentation": as_markdown(specs),
        "exemplar": _shown(exemplar, recording),
        "aim": case.candidate.aim,
        "exemplar_tools": involved,
        "dropped": way.dropped,
        "added": way.added,
    }


def _shown(task: Task, recording: Recording) -> dict[str, Any]:
    """Return the exemplar with the recorded tool results, which show the content of its files."""
    steps = [step.model_dump(mode="json") for step in recording.solution.steps]
    for step in steps:
        step["result"] = step["result"][:_SHOWN_RESULT]
    answer = None if task.answer is None else task.answer.model_dump(mode="json")
    return {
        "query": task.query,
        "files": [file.path for file in task.files],
        "steps": steps,
        "final_answer": recording.solution.final_answer,
        "answer": answer,
    }


def _taken(case: Case) -> set[str]:
    """Return the questions already made from the same exemplar, folded."""
    store, ours = case.shop.store, case.candidate
    drafts = (
        store.draft(c.id)
        for c in store.candidates(ours.refresh_id)
        if c.exemplar == ours.exemplar and c.id != ours.id
    )
    return {fold(draft.query) for draft in drafts if draft is not None}
