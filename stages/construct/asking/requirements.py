"""The model's part of the coverage map: demands of the query that code cannot recognise."""

import re

from stages.construct.answers.drafts import shown_nodes, shown_task
from stages.construct.answers.forms import RequirementsForm
from stages.construct.asking.ask import Asked
from stages.construct.case import Case
from stages.construct.rules.coverage import QUOTE_LENGTH, named_requirement
from taskdata.schema.construct import TaskDraft
from taskdata.schema.requirement import ExplicitRequirement


async def named_requirements(
    case: Case, draft: TaskDraft, *, has_tree: bool = True
) -> Asked[tuple[ExplicitRequirement, ...]]:
    """Return the requirements that the model names, whose quotes and leaves code has confirmed.

    An answer with a quote that does not stand in the query, or with a leaf that the tree does not
    have, is sent back with the fault. Without a tree, no requirement has a leaf. Raises like
    `asking.ask`.
    """

    def accept(form: RequirementsForm) -> tuple[ExplicitRequirement, ...]:
        named = ((one.quote, one.leaves if has_tree else ()) for one in form.requirements)
        return tuple(named_requirement(draft, quote, leaves) for quote, leaves in named)

    nodes = shown_nodes(draft.checkpoints) if has_tree else []
    leaves = [node for node in nodes if node["verifier"] != "group"]
    shown = {
        "tier": case.candidate.tier.value,
        "task": shown_task(draft),
        "leaves_shown": leaves,
    }
    choices = {"leaves": [node["id"] for node in leaves]}
    if case.window.is_local:
        # Small models put quotes in words of their own.
        choices["quote"] = clauses(draft.query)
    return await case.ask("requirements", shown, RequirementsForm, accept, choices=choices)


def clauses(query: str) -> list[str]:
    """Return the sentences of a query, and their parts between colons, as they stand there."""
    parts = re.split(r"(?<=[.!?;:])\s+|\n\s*\n", query)
    found = [" ".join(part.split()) for part in parts]
    return [one for one in found if QUOTE_LENGTH[0] <= len(one) <= QUOTE_LENGTH[1]]
