"""The generate stage: a first draft from a seed or an aim (GTA-2, section 3.3.4)."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from environments.models.registry import model_client
from stages.construct.answers.drafts import draft_from, draft_of, draft_without_tree, shown_draft
from stages.construct.answers.forms import DraftForm, TaskForm, tidied
from stages.construct.asking.ask import Asked, Tally
from stages.construct.asking.harm_opinion import HarmFindingsForm, harm_opinion
from stages.construct.asking.prompting import Untrusted
from stages.construct.asking.tree import WrittenTree, written_tree
from stages.construct.case import Case, task_choices
from stages.construct.history import COVERAGE_MAP
from stages.construct.rules.book import require
from stages.construct.rules.task import task_violations
from stages.construct.rules.tree import tree_violations
from stages.construct.rules.violation import counted
from stages.construct.work import Connect, StepOutcome, invalid, walk
from taskdata.schema.construct import (
    Candidate,
    CandidateStatus,
    Construction,
    Origin,
    TaskDraft,
)
from taskdata.schema.requirement import ExplicitRequirement
from taskdata.schema.run import StageReport
from taskdata.schema.seed import StoredSeed
from taskdata.store import Store

_MAX_REASON = 1_000


def do(store: Store, refresh_id: str, connect: Connect = model_client) -> StageReport:
    """Draft every due candidate except expansions, which are drafted with their chains.

    A draft must be consistent before it is accepted: tree, checks, files and tools. Its wording is
    checked later, by the validate stage. Raises like `work.walk`.
    """
    return walk(store, refresh_id, Construction.GENERATE, _take, connect, _is_ours)


def _is_ours(candidate: Candidate) -> bool:
    """Return whether the candidate is drafted here: expansions are drafted with their chains."""
    return candidate.origin is not Origin.EXPANSION


async def _take(case: Case) -> StepOutcome:
    seed = await asyncio.to_thread(_seed, case)
    judged = Tally()
    if seed is not None and case.shop.config.safety.ask_model:
        reasons, opinion = await harm_opinion(case, seed.query.text)
        if opinion.answer is None:
            return invalid(opinion)
        if reasons:
            return _harmful(reasons, opinion)
        judged = opinion.tally
    context = await asyncio.to_thread(_context, case, seed)
    asked, without_tree = await _drafted(case, context)
    written = asked.answer
    if written is None:
        # A person can give the task its tree.
        return replace(invalid(asked, judged + asked.tally), draft=without_tree)
    return StepOutcome(
        "drafted",
        next=Construction.CLASSIFY,
        reasons=_likeness(seed),
        draft=written.draft,
        facts=_facts(asked.faults, written.coverage),
        tally=judged + asked.tally,
        prompt_version=asked.prompt_version,
    )


def _facts(faults: Sequence[str], coverage: Sequence[ExplicitRequirement]) -> dict[str, Any]:
    facts: dict[str, Any] = {"answers_refused": list(faults)}
    if coverage:
        facts[COVERAGE_MAP] = [one.model_dump(mode="json") for one in coverage]
    return facts


async def _drafted(
    case: Case, context: dict[str, object]
) -> tuple[Asked[WrittenTree], TaskDraft | None]:
    """Return the first draft, and if task and tree are drafted in steps, the task before its tree.

    The latter has a tree to be replaced.
    """

    def whole(form: DraftForm) -> WrittenTree:
        draft = draft_of(form)
        broken = (*task_violations(draft, case.book), *tree_violations(draft, case.book))
        require(counted(broken, case.book))
        return WrittenTree(draft)

    def task(form: TaskForm) -> TaskDraft:
        draft = draft_without_tree(tidied(form))
        require(counted(task_violations(draft, case.book), case.book))
        return draft

    if not case.shop.config.drafts_in_steps:
        form = DraftForm
        return await case.ask("generate", context, form, whole, choices=task_choices(case)), None
    first = await case.ask("generate", context, TaskForm, task, choices=task_choices(case))
    if first.answer is None:
        return Asked(None, first.faults, first.tally, first.prompt_version), None
    tree = await written_tree(case, first.answer, None, ())
    faults, tally = (*first.faults, *tree.faults), first.tally + tree.tally
    return replace(tree, faults=faults, tally=tally), first.answer


def _harmful(reasons: tuple[str, ...], opinion: Asked[HarmFindingsForm]) -> StepOutcome:
    return StepOutcome(
        "harmful",
        status=CandidateStatus.QUARANTINED,
        reason=f"the model would not make a task of it: {'; '.join(reasons)}"[:_MAX_REASON],
        reasons=reasons,
        tally=opinion.tally,
        prompt_version=opinion.prompt_version,
    )


def _seed(case: Case) -> StoredSeed | None:
    seed_id = case.candidate.seed_id
    return None if seed_id is None else case.shop.store.seed(seed_id)


def _context(case: Case, seed: StoredSeed | None) -> dict[str, object]:
    candidate = case.candidate
    varied = None if candidate.exemplar is None else case.shop.store.task(candidate.exemplar)
    return case.context() | {
        "request": None if seed is None else Untrusted(seed.query.text),
        "varied": None if varied is None else shown_draft(draft_from(varied)),
        "aim": Untrusted(candidate.aim) if candidate.aim else None,
        "in_steps": case.shop.config.drafts_in_steps,
    }


def _likeness(seed: StoredSeed | None) -> tuple[str, ...]:
    """Return, for the reviewer, what the seed nearly repeats."""
    links = () if seed is None else seed.duplicate_of
    return tuple(
        f"the seed is much like {link.other_kind} {link.other_id} "
        f"({link.method}, {link.similarity:.2f})"
        for link in links
    )
