"""Scores cheats and mutants with the checks of a task's tree, without judge and programs."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from stages.construct.proof.adversarial.cheats import Cheat, cheats_of
from stages.construct.proof.adversarial.mutants import Mutant, mutants_of
from stages.construct.proof.adversarial.report import (
    CheatScore,
    FaultCount,
    Resistance,
    Survivor,
)
from stages.score.checking.leaves import check_leaves
from stages.score.evidence import TrialEvidence
from stages.score.found_files import with_found_files
from stages.score.tree import aggregate
from taskdata.schema.checkpoint import Check, Checkpoint, ToolResultCheck
from taskdata.schema.deliverable import is_meant
from taskdata.schema.evidence import MOST_FOR_CHEATS
from taskdata.schema.scores import LeafScore, NodeScore, Unscored
from taskdata.schema.task import Task
from taskdata.schema.views import UnreadableView, View

_ROUNDING = 1e-6
_MANY = 30
"""The most unnoticed mutants that are kept for one task."""


@dataclass(frozen=True)
class Played:
    """What the reference solution left, and its scores."""

    views: Mapping[str, View]
    answer: str
    leaves: Mapping[str, LeafScore]
    score: float


async def resistance_of(
    task: Task, inputs: Mapping[str, View], reference: Played | None
) -> Resistance:
    """Return the scores of cheats, and which faults in the reference the task's tree notices.

    Leaves that only a judge or a program can score notice no mutant, because they keep the
    reference's score, and pay no cheat, because they are unscored.

    Args:
        task: The task.
        inputs: Views of the task's readable files by path.
        reference: A reference with the full score; None: only cheats are tried.

    Raises:
        BadTaskData: a check of the task is not valid.
        ChecksFailed: the process that runs checks cannot be started, or was lost.
    """
    left = reference.views if reference else {}
    named = with_found_files(task, tuple(left))
    cheats = [await _paid(task, cheat) for cheat in cheats_of(named, inputs, left)]
    if reference is None:
        return Resistance(cheats=tuple(cheats))
    mutants, idle = _mutants(task, named, reference)
    tried, noticed, survivors = Counter[str](), Counter[str](), list[Survivor]()
    for mutant in mutants:
        tried[mutant.fault] += 1
        if await _is_noticed(task, reference, mutant):
            noticed[mutant.fault] += 1
        else:
            fault, name, what = mutant.fault.value, mutant.deliverable, mutant.what
            survivors.append(Survivor(fault=fault, deliverable=name, what=what))
    return Resistance(
        faults=tuple(
            FaultCount(fault=fault, tried=count, noticed=noticed[fault])
            for fault, count in sorted(tried.items())
        ),
        survivors=tuple(survivors[:_MANY]),
        not_asked_for=idle,
        cheats=tuple(cheats),
    )


def _mutants(task: Task, named: Task, reference: Played) -> tuple[list[Mutant], int]:
    places: list[tuple[str | None, View | str]] = [(None, reference.answer)]
    places += [(d.name, v) for d in named.deliverables if (v := reference.views.get(d.name))]
    places += [(n, v) for n in sorted(task.state_files) if (v := reference.views.get(n))]
    found, idle = list[Mutant](), 0
    for name, left in places:
        leaves = leaves_of(task, name)
        if not leaves or isinstance(left, UnreadableView):
            continue
        is_file = name is not None and name not in task.state_files
        made = mutants_of(name, left, leaves, task.content_hash, is_file=is_file)
        found += made.asked_for
        idle += made.not_asked_for
    return found, idle


def leaves_of(task: Task, name: str | None) -> Sequence[Checkpoint]:
    """Return the leaves with a check that looks at a deliverable, or at the final answer."""
    return [
        leaf
        for leaf in task.checkpoints.leaves()
        if isinstance(leaf.verifier, Check) and _looks_at(leaf.verifier, name)
    ]


def _looks_at(check: Check, name: str | None) -> bool:
    if name is None or check.deliverable is None:
        return name is None and check.deliverable is None
    return is_meant(name, check.deliverable)


async def _is_noticed(task: Task, reference: Played, mutant: Mutant) -> bool:
    name, views, answer = mutant.deliverable, dict(reference.views), reference.answer
    if name is None:
        answer = str(mutant.left)
    elif mutant.left is None or isinstance(mutant.left, str):
        del views[name]
    else:
        views[name] = mutant.left
    evidence = TrialEvidence(views=views, delivered=tuple(views), final_answer=answer)
    checked = await check_leaves(leaves_of(task, name), evidence)
    score = _root(task, {**reference.leaves, **checked}).score
    return score is not None and score < reference.score - _ROUNDING


async def _paid(task: Task, cheat: Cheat) -> CheatScore:
    evidence = TrialEvidence(
        views=cheat.views, delivered=tuple(cheat.views), final_answer=cheat.answer
    )
    checked = await check_leaves(task.checkpoints.leaves(), evidence)
    others = {leaf.id: _unplayed(leaf) for leaf in task.checkpoints.leaves()}
    scored = {**others, **checked}
    return CheatScore(
        name=cheat.name,
        score=_root(task, scored).score,
        leaves=tuple(name for name, leaf in scored.items() if (leaf.score or 0) > MOST_FOR_CHEATS),
    )


def _unplayed(leaf: Checkpoint) -> LeafScore:
    """Return a cheat's score of a leaf without a check; a cheat has called the reading tools."""
    if isinstance(leaf.verifier, ToolResultCheck):
        return LeafScore(leaf_id=leaf.id, score=10.0, verifier="cheat:read@1", reason="read")
    return LeafScore(
        leaf_id=leaf.id,
        score=None,
        verifier="cheat:none@1",
        reason="not asked",
        unscored=Unscored.NOT_CONFIGURED,
    )


def _root(task: Task, leaves: Mapping[str, LeafScore]) -> NodeScore:
    return aggregate(task.checkpoints, leaves, weightless_is_0=task.provenance.as_published)
