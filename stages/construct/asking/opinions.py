"""A model's opinion on a draft: faults that take understanding, with the words that show them.

A finding counts only if its quote occurs in the place that it names. Without this rule, a model
that is asked for faults invents some, and no rewrite could remove them; other findings are kept as
facts.
"""

import asyncio
from dataclasses import dataclass
from typing import Literal

from stages.construct.answers.drafts import shown_draft, shown_task
from stages.construct.answers.forms import FindingForm, FindingsForm
from stages.construct.asking.ask import Asked, as_is
from stages.construct.case import Case
from stages.construct.rules.violation import Violation, counted, in_tree
from stages.score.matching import fold
from taskdata.schema.checkpoint import Judge
from taskdata.schema.construct import TaskDraft

Scope = Literal["task", "tree", "both"]

_SHORTEST_QUOTE = 3
"""Characters; shorter quotes occur anywhere."""


@dataclass(frozen=True)
class Opinion:
    """A model's findings, divided by whether their evidence is valid."""

    violations: tuple[Violation, ...]
    ignored: tuple[str, ...]
    """Findings whose quote does not occur where they say, one sentence each."""
    asked: Asked[FindingsForm]

    @property
    def is_given(self) -> bool:
        """Whether the model answered at all; without an answer, nothing counts as clean."""
        return self.asked.answer is not None


async def opinion(case: Case, draft: TaskDraft, scope: Scope) -> Opinion:
    """Return the model's findings about the draft, or about its part in `scope`.

    Raises like `asking.ask`.
    """
    context = await asyncio.to_thread(case.context)
    shown = shown_task(draft) if scope == "task" else shown_draft(draft)
    asked = await case.ask(
        "opinions", context | {"draft": shown, "scope": scope}, FindingsForm, as_is
    )
    findings = asked.answer.findings if asked.answer else ()
    places = _places(draft, scope)
    sound = [f for f in findings if _is_evident(f, places)]
    unsound = [f for f in findings if f not in sound]
    return Opinion(
        violations=counted(map(_violation, sound), case.book),
        ignored=tuple(f"{f.place}: {f.rule}: {f.problem} ({f.quote!r})" for f in unsound),
        asked=asked,
    )


def _places(draft: TaskDraft, scope: Scope) -> dict[str, str]:
    """Return the texts in which a quote may occur, by place."""
    places: dict[str, str] = {}
    if scope != "tree":
        asked = "\n".join(spec.description for spec in draft.deliverables)
        places["query"] = fold(f"{draft.title}\n{draft.query}\n{asked}")
    if scope != "task":
        for node in draft.checkpoints.nodes():
            rubric = node.verifier.rubric if isinstance(node.verifier, Judge) else ""
            places.setdefault(node.id, fold(f"{node.requirement}\n{rubric}"))
    return places


def _is_evident(finding: FindingForm, places: dict[str, str]) -> bool:
    quote = fold(finding.quote)
    return len(quote) >= _SHORTEST_QUOTE and quote in places.get(finding.place, "")


def _violation(finding: FindingForm) -> Violation:
    field = "query" if finding.place == "query" else in_tree(finding.place)
    message = f"{finding.problem} (it says: {finding.quote!r})"
    return Violation(field=field, rule=finding.rule, message=message)
