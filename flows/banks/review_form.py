"""What the review form of the Prefect UI says about tasks, as Markdown.

What seeds and models wrote stands in spans of code, which make neither markup nor links of it.
"""

import re
from collections.abc import Iterator

from dashboards.pages.expectations import expectations, plain_value
from flows.publishing import plain
from stages.release.review import ReviewSheet
from taskdata.schema.checkpoint import Checkpoint
from taskdata.schema.construct import TaskDraft

MOST_CHARACTERS = 12_000
"""Of what is said about a task; the rest is left out, which is said."""

_EXCERPT = 2_000
_LINE = 300
_NODES = 60
_STEPS = 30


def introduction(sections: int, waiting: int) -> str:
    """Return what the form says before its sections.

    Args:
        sections: How many tasks have one.
        waiting: How many wait for a decision, those without a section included.
    """
    told = "Your name; stored with the decisions.\n\n"
    if sections == waiting:
        told += f"{waiting} tasks wait for a decision." if waiting > 1 else "One task waits."
    else:
        told += (
            f"{sections} of {waiting} tasks that wait for a decision; the others are in the next "
            "form."
        )
    return f"{told} `nightshift review open` shows each task on a page of its own, with its files."


def about(sheet: ReviewSheet, fault: str = "") -> str:
    """Return everything about a task and its review.

    Args:
        sheet: What is known of it.
        fault: Why the answer before was not stored; empty: it was, or there was none.
    """
    lines = [f"**Not stored: {plain(fault)}**\n"] if fault else []
    text = "\n".join([*lines, *_about(sheet)]).strip()
    if len(text) <= MOST_CHARACTERS:
        return text
    kept = text[:MOST_CHARACTERS].rpartition("\n")[0]
    rest = f"`nightshift review show {sheet.candidate.task_id}` shows the rest."
    return f"{kept}\n\n**This is cut.** {rest}"


def in_field(markdown: str) -> str:
    """Return the text for the description of a field, of which the UI takes one newline each."""
    return re.sub(r"\n+", lambda newlines: newlines[0] + "\n", markdown)


def _about(sheet: ReviewSheet) -> Iterator[str]:
    if sheet.reviewers > 1:
        said = f"{sheet.voted} of {sheet.reviewers} reviewers have decided."
        yield "**Reviewers disagree.**\n" if sheet.is_disputed else f"{said}\n"
        if sheet.is_disputed:
            yield from (
                f"- {plain(one.reviewer)}: {one.decision.replace('_', ' ')} {_line(one.comment)}"
                for one in sheet.decisions
                if one.decision != "edit"
            )
    if sheet.draft is None:
        return
    yield from _task(sheet.draft)
    yield "\n**Checkpoint tree**\n"
    yield from _tree(sheet.draft)
    yield from _reference(sheet, sheet.draft)
    yield from _evidence(sheet)


def _task(draft: TaskDraft) -> Iterator[str]:
    yield f"{plain(draft.title)}\n"
    yield from (
        f"> {plain(part)}  " for part in draft.query[:_EXCERPT].splitlines() if part.strip()
    )
    if len(draft.query) > _EXCERPT:
        yield f"> … {len(draft.query) - _EXCERPT} more characters"
    yield f"\nFiles: {', '.join(map(plain, draft.files)) or 'none'}. "
    yield f"Tools: {', '.join(map(plain, draft.tools))}. "
    named = ", ".join(plain(spec.name) for spec in draft.deliverables)
    yield f"Deliverables: {named or 'the answer'}."


def _tree(draft: TaskDraft) -> Iterator[str]:
    nodes = list(_nodes(draft.checkpoints, 0))
    for node, depth in nodes[:_NODES]:
        said = [_line(one) for one in expectations(node.verifier)] if node.verifier else []
        yield (
            "  " * depth
            + f"- {node.weight:g} × {_line(node.requirement)}"
            + (f" ({'; '.join(said[:6])})" if said else "")
        )
    if len(nodes) > _NODES:
        yield f"- and {len(nodes) - _NODES} more"


def _nodes(node: Checkpoint, depth: int) -> Iterator[tuple[Checkpoint, int]]:
    yield node, depth
    for child in node.children:
        yield from _nodes(child, depth + 1)


def _reference(sheet: ReviewSheet, draft: TaskDraft) -> Iterator[str]:
    yield f"\n**Reference solution**: {sheet.reference.reason}\n"
    if draft.reference is None:
        return
    for step in draft.reference.steps[:_STEPS]:
        given = "; ".join(_line(f"{k}: {plain_value(v)}") for k, v in step.arguments.items())
        yield f"1. {plain(step.tool)} {given}"
    yield f"\nFinal answer: {_line(draft.reference.final_answer) or 'none'}"


def _evidence(sheet: ReviewSheet) -> Iterator[str]:
    found = sheet.evidence
    yield "\n**Requirements that the query states explicitly, and their leaves**\n"
    for row in found.coverage or ():
        leaves = ", ".join(map(plain, row.leaves)) or "**NO LEAF**"
        yield f"- {row.kind} {_line(row.quote)}: {leaves}"
    if not found.coverage:
        yield "none was found"
    yield "\n**Cheats**\n"
    tried = found.adversaries
    if tried is None:
        yield "none was played"
    else:
        for cheat in tried.cheats:
            earned = "not scored" if cheat.score is None else f"{cheat.score:.2f} of 10"
            yield f"- {plain(cheat.name)}: {earned}"
        if tried.faults:
            yield f"- mutations that the tree notices: {tried.noticed} of {tried.faults}"
        else:
            yield "- no mutation of a reference was tried"
        yield from (f"- not noticed: {_line(fault)}" for fault in tried.unnoticed[:10])
    yield "\n**Personal data, harm, orders to the model**\n"
    for one in found.safety[:20]:
        yield f"- {one.rule.replace('_', ' ')}, {one.became}: {_line(one.found)}"
    if not found.safety:
        yield "none was found"


def _line(text: str) -> str:
    return plain(text if len(text) <= _LINE else f"{text[:_LINE]} …")
