"""A checkpoint tree in small steps: first what the query demands, then one leaf for each demand.

A small model repeats itself and loses sight of the query when it writes a whole tree at once. Asked
leaf by leaf, it sees one demand at a time. Requirements are the demands in the words of the query,
so that none is invented, and the coverage map follows from what was asked.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from stages.construct.answers.drafts import shown_task, tree_of
from stages.construct.answers.forms import ROOT, LeafForm, NodeForm, leaf_node
from stages.construct.answers.leaf_schema import leaf_schema
from stages.construct.asking.ask import Asked, Tally
from stages.construct.asking.requirements import clauses, named_requirements
from stages.construct.case import Case
from stages.construct.material.checks import DescribedCheck, checks_for, kind_named, looking_at
from stages.construct.rules.book import require
from stages.construct.rules.coverage import coverage_map
from stages.construct.rules.tree import tree_violations
from stages.construct.rules.violation import Violation, counted, in_tree
from stages.construct.rules.wording import tree_wording
from stages.score.library import check_library
from stages.score.matching import fold
from taskdata.errors import BadTaskData
from taskdata.schema.construct import TaskDraft
from taskdata.schema.requirement import ExplicitRequirement, MapOrigin, RequirementKind

_EXISTS = "file_exists"


@dataclass(frozen=True)
class Leaves:
    """The leaves of a tree, in the order of the demands that they score."""

    nodes: tuple[NodeForm, ...]
    """Without `ROOT`, which they are below."""
    scored: tuple[ExplicitRequirement, ...]
    """The demands that the model named, each with its leaf, or without if no answer was usable."""


@dataclass
class _Work:
    """The leaves so far, and what was asked for them."""

    nodes: list[NodeForm] = field(default_factory=list)
    scored: list[ExplicitRequirement] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    tally: Tally = field(default_factory=Tally)
    prompt_version: str = ""


@dataclass(frozen=True)
class Earlier:
    """What is known of an earlier tree for the same query."""

    named: tuple[ExplicitRequirement, ...] = ()
    """The demands that the model has named; empty: it is asked for them."""
    unsound: frozenset[str] = frozenset()
    """Requirements whose checks give points to worthless work; a judge is to score them."""


NOTHING = Earlier()
"""There was no tree for the same query before."""


async def leaf_by_leaf(
    case: Case,
    draft: TaskDraft,
    found: Sequence[Violation],
    context: dict[str, Any],
    earlier: Earlier,
) -> Asked[Leaves]:
    """Return a leaf for each demand of the query for which an answer of the model was usable.

    Args:
        case: The candidate.
        draft: The task that the tree is for.
        found: What was found wrong with an earlier tree.
        context: What the prompts may show.
        earlier: What else is known of the earlier tree.

    Raises like `asking.ask`.
    """
    named, work = earlier.named, _Work()
    if not named:
        asked = await named_requirements(case, draft, has_tree=False)
        if asked.answer is None:
            return Asked(None, asked.faults, asked.tally, asked.prompt_version)
        named = asked.answer
        work = _Work(faults=list(asked.faults), tally=asked.tally)
    demands = _demands(draft, named, case, context["leaves"])
    shown = context | {"task": shown_task(draft), "violations": [str(one) for one in found]}
    may_be_judged = math.floor(len(demands) * (1 - case.book.tree.min_checkable_share))
    for demand in demands:
        judged = sum(node.verifier == "judge" for node in work.nodes)
        await _add_leaf(case, draft, demand, work, shown, earlier, may_judge=judged < may_be_judged)
    leaves = Leaves(tuple(work.nodes), tuple(work.scored))
    return Asked(leaves, tuple(work.faults), work.tally, work.prompt_version)


def _demands(
    draft: TaskDraft,
    named: Sequence[ExplicitRequirement],
    case: Case,
    leaves: tuple[int, int],
) -> list[ExplicitRequirement]:
    """Return what the query demands, each once; sentences join it where there are too few.

    What code recognises comes first. A sentence that joins is no demand that the model named.
    """
    fewest, most = leaves
    bare = draft.model_copy(update={"checkpoints": tree_of((_placeholder(),))})
    of_code = coverage_map(bare) if case.shop.config.require_coverage else ()
    demands: dict[str, ExplicitRequirement] = {}
    for one in (*of_code, *named):
        demands.setdefault(fold(one.quote), one)
    for text in clauses(draft.query):
        if len(demands) < fewest:
            sentence = ExplicitRequirement(kind=RequirementKind.WORDS, quote=text, leaves=())
            demands.setdefault(fold(text), sentence)
    return list(demands.values())[:most]


def _placeholder() -> NodeForm:
    return ROOT.model_copy(update={"verifier": "judge", "rubric": "-"})


async def _add_leaf(
    case: Case,
    draft: TaskDraft,
    demand: ExplicitRequirement,
    work: _Work,
    shown: dict[str, Any],
    earlier: Earlier,
    *,
    may_judge: bool,
) -> None:
    """Have the model write the leaf for a demand, and add it unless no answer is usable.

    If no answer with a check is usable, the last answer is asked for a judge, as far as the tree
    may be judged. If the demand's earlier check gave points to worthless work, a judge is all that
    is asked for.
    """
    most = case.shop.config.max_asks
    judge_alone = may_judge and _requirement(demand) in earlier.unsound
    judge_last = may_judge and (judge_alone or most > 1)
    node = None
    if not judge_alone:
        node = await _ask_leaf(case, draft, demand, work, shown, times=most - judge_last)
    if node is None and judge_last:
        node = await _ask_leaf(case, draft, demand, work, shown, times=1, by_judge=True)
    if node is not None and node not in work.nodes:
        work.nodes.append(node)
    if demand.origin is MapOrigin.MODEL:
        ids = () if node is None else (node.id,)
        work.scored.append(demand.model_copy(update={"leaves": ids}))


async def _ask_leaf(
    case: Case,
    draft: TaskDraft,
    demand: ExplicitRequirement,
    work: _Work,
    shown: dict[str, Any],
    *,
    times: int,
    by_judge: bool = False,
) -> NodeForm | None:
    """Return the leaf for a demand, by a check or by a judge; None: no answer was usable.

    An answer that scores the demand like an earlier leaf is questioned once. Given again, it means
    that this leaf scores the demand, too, and is returned.
    """
    questioned: list[NodeForm] = []

    def accept(form: LeafForm) -> NodeForm:
        node = leaf_node(form, _requirement(demand), len(work.nodes) + 1)
        twin = next((one for one in work.nodes if _how(one) == _how(node)), None)
        if twin in questioned:
            return twin
        if twin is not None:
            questioned.append(twin)
            raise BadTaskData(
                f"another checkpoint is scored in the same way: {twin.requirement!r}. Choose what "
                "tests this requirement alone; answer the same again if nothing else tests it"
            )
        tree = tree_of((ROOT, *work.nodes, node))
        changed = draft.model_copy(update={"checkpoints": tree})
        broken = (*tree_violations(changed, case.book), *tree_wording(changed, case.book))
        require(counted((one for one in broken if _is_of(one, node)), case.book))
        if not _is_scored(demand, draft, node):
            raise BadTaskData(
                f"the check does not score the demand: {demand.quote!r} does not stand in its "
                "arguments"
            )
        return node

    is_file = demand.kind is RequirementKind.FILE
    places = [spec for spec in draft.deliverables if not is_file or spec.name == demand.quote]
    types = [spec.type for spec in places]
    checks = () if by_judge else _checks(draft, types, to_final_answer=not is_file)
    schema = leaf_schema(
        [check_library()[check.name] for check in checks],
        [(spec.name, kind_named(spec.type)) for spec in places],
        may_judge=by_judge,
    )
    asked = await case.ask(
        "leaf",
        shown | {"requirement": _requirement(demand), "by_judge": by_judge},
        LeafForm,
        accept,
        times=times,
        choices={
            "check": [check.name for check in checks] or [""],
            "looks_at": [spec.name for spec in places],
        },
        schema=schema if case.window.is_local else None,
    )
    work.tally += asked.tally
    work.faults += asked.faults
    work.prompt_version = asked.prompt_version
    return asked.answer


def _checks(
    draft: TaskDraft, types: Sequence[str], *, to_final_answer: bool
) -> Sequence[DescribedCheck]:
    """Return the checks to choose from; that a file is there follows from every other check."""
    looking = looking_at(checks_for(draft), types)
    if not to_final_answer:
        looking = tuple(check for check in looking if check.looks_at != ("final answer",))
    others = [check for check in looking if check.name != _EXISTS]
    return others or looking


def _is_of(violation: Violation, node: NodeForm) -> bool:
    place = in_tree(node.id)
    return violation.field == place or violation.field.startswith(f"{place}.")


def _is_scored(demand: ExplicitRequirement, draft: TaskDraft, node: NodeForm) -> bool:
    """Return whether the leaf scores a demand that code can recognise; of others nobody knows.

    A judge scores what the requirement says. For a check the requirement does not count, because
    it repeats the words of the query.
    """
    if demand.kind is RequirementKind.WORDS or node.verifier == "judge":
        return True
    alone = tree_of((ROOT, node.model_copy(update={"requirement": ROOT.requirement})))
    found = coverage_map(draft.model_copy(update={"checkpoints": alone}))
    return any(one.leaves and one.quote == demand.quote for one in found)


def _requirement(demand: ExplicitRequirement) -> str:
    if demand.kind is RequirementKind.FILE:
        return f"The file {demand.quote!r} holds what the query asks for."
    return f"The result is as asked for: {demand.quote!r}"


def _how(node: NodeForm) -> tuple[object, ...]:
    return node.check, node.args, node.rubric, node.looks_at
