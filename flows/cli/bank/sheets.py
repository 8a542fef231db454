"""What a reviewer reads before deciding: history, task, what it expects, what its solution did."""

from typing import TYPE_CHECKING

from dashboards.pages.expectations import plain_value
from flows.cli import console
from flows.cli.bank.stopped_candidates import write_quarantine
from flows.cli.bank.trees import cut, write_tree
from flows.cli.reviewing.checklists import written
from taskdata.schema.review import ChecklistItem

if TYPE_CHECKING:
    from dashboards.pages.trial.caps import Shown
    from dashboards.pages.trial.previews import Block
    from stages.construct.proof.adversarial.report import Resistance
    from stages.release.review import ReviewSheet
    from taskdata.schema.construct import TaskDraft
    from taskdata.schema.run import TrialResult
    from taskdata.schema.task import Answer, ReferenceSolution
    from taskdata.store import Store

_SHOWN_LETTERS = 600
_SHOWN_ROWS = 8


def write_sheet(store: "Store", found: "ReviewSheet", *, full: bool) -> None:
    """Write everything about a candidate; long texts are cut, unless `full`."""
    _write_history(found)
    if found.draft is not None:
        _write_draft(found.draft, full=full)
        _write_coverage(found)
        _write_belief(found)
    if found.resistance is not None:
        _write_resistance(found.resistance)
    _write_safety(found)
    if found.played is not None:
        _write_play(store, found.played, full=full)
    if found.candidate.stage == "review" and found.candidate.status == "open":
        console.heading("\nThe checklist, which `nightshift review approve` asks for")
        for item in ChecklistItem:
            console.block(f"{item.value}: {item.question}")


def _write_history(found: "ReviewSheet") -> None:
    one = found.candidate
    console.say(f"{one.task_id} ({one.id}) of refresh {one.refresh_id}: {one.status.value}")
    if one.reason:
        console.paragraph(f"Reason: {one.reason}")
    if one.aim:
        console.paragraph(f"Aim:    {one.aim}")
    if found.seed is not None:
        console.say(f"\nSeed {found.seed.id} ({found.seed.query.source}, {found.seed.origin}):")
        console.block(found.seed.query.text)
        for link in found.seed.duplicate_of:
            console.say(
                f"  like {link.other_kind} {link.other_id} ({link.method} {link.similarity:.2f})"
            )
    rows = [
        {
            "stage": step.stage.value,
            "verdict": step.verdict,
            "reasons": "; ".join(step.reasons),
            "prompt": step.prompt_version or "",
            "model": step.model_id or "",
            "cost": "" if step.cost_usd is None else f"${step.cost_usd:.4f}",
        }
        for step in found.steps
    ]
    console.table(rows, title="Steps", optional=("cost", "prompt", "model"))
    write_quarantine(found.quarantine, found.mending)
    for decision in found.decisions:
        console.paragraph(
            f"{decision.at:%Y-%m-%d %H:%M} {decision.decision.replace('_', ' ')} by "
            f"{decision.reviewer}: {decision.comment or 'no comment'}"
        )
        if decision.checklist:
            console.paragraph(f"  {written(decision.checklist)}")
    if found.reviewers > 1:
        console.say(
            "Reviewers disagree; one of them can decide again, or somebody else"
            if found.is_disputed
            else f"{found.voted} of {found.reviewers} reviewers have decided"
        )


def _write_draft(draft: "TaskDraft", *, full: bool) -> None:
    console.heading(f"\n{draft.title} ({draft.category.value}, {draft.human_minutes} minutes)")
    console.block(draft.query)
    console.say("Files:        " + (", ".join(draft.files) or "none"))
    console.paragraph("Tools:        " + ", ".join(draft.tools))
    console.say("Deliverables: " + (", ".join(d.name for d in draft.deliverables) or "the answer"))
    console.heading("\nCheckpoints and what they expect")
    write_tree(draft.checkpoints, expected=True, full=full)
    if draft.answer is not None:
        _write_answer(draft.answer)
    if draft.reference is None:
        console.say("It has no reference solution.")
    else:
        _write_reference(draft.reference, full=full)


def _write_answer(answer: "Answer") -> None:
    console.heading("\nThe right answer")
    match answer.kind:
        case "objective":
            for group in answer.whitelist:
                console.block(f"has {' or '.join(group)}")
            for group in answer.blacklist:
                console.block(f"has not {' or '.join(group)}")
        case "subjective":
            for text in answer.references:
                console.block(f"means: {text}")
        case "image_generation":
            console.block("is the picture: the arguments of the calls that draw are compared")


def _write_reference(reference: "ReferenceSolution", *, full: bool) -> None:
    console.heading("\nReference solution")
    for number, step in enumerate(reference.steps, start=1):
        console.block(f"{number}. {step.tool}")
        for name, value in step.arguments.items():
            text = f"{name}: {plain_value(value)}"
            console.block(text if full else cut(text, _SHOWN_LETTERS), indent=6)
    console.block("Final answer:")
    console.block(reference.final_answer or "(none)", indent=6)


def _write_coverage(found: "ReviewSheet") -> None:
    console.heading("\nExplicit requirements of the query, and the leaves that score them")
    for one in found.coverage:
        console.block(f"{one.kind.value} {one.quote}: {', '.join(one.leaves) or 'NO LEAF'}")
    if not found.coverage:
        console.block("the query names no file, nothing in quotation marks, and no number of parts")


def _write_belief(found: "ReviewSheet") -> None:
    console.paragraph(f"Reference:    {found.reference.reason}")
    if found.confirmation is not None:
        for reason in found.confirmation.reasons:
            console.block(f"the second solution does not confirm it: {reason}")


def _write_safety(found: "ReviewSheet") -> None:
    console.heading("\nPersonal data, harm and orders to the model that were found")
    for one in found.safety:
        where = one.where.removeprefix("gate ")
        console.block(f"{one.rule.replace('_', ' ')}, {one.became} ({where}): {one.found}")
    if not found.safety:
        console.block("none")


def _write_resistance(found: "Resistance") -> None:
    console.heading("\nScores of cheats, and faults in the reference that the tree notices")
    for cheat in found.cheats:
        earned = "nothing could be scored" if cheat.score is None else f"{cheat.score:.2f}"
        console.block(f"{cheat.name}: {earned}")
    if not found.faults:
        return
    console.block(
        f"the tree notices {found.noticed} of {found.tried} faults in what requirements name; "
        f"{found.not_asked_for} further faults are in content that no requirement names"
    )
    for survivor in found.survivors:
        console.block(f"not noticed: {survivor}")


def _write_play(store: "Store", played: "TrialResult", *, full: bool) -> None:
    from dashboards.pages.trial.caps import CAPS
    from dashboards.pages.trial.previews import preview

    console.heading("\nWhat the reference solution delivered when it was played")
    outcome, score = played.outcome, played.score
    if outcome is None:
        console.block("nothing yet: the trial is due")
        return
    if score is not None:
        rows = [
            {
                "leaf": leaf.leaf_id,
                "score": "-" if leaf.score is None else f"{leaf.score:.2f}",
                "reason": leaf.reason,
            }
            for leaf in score.leaves
        ]
        console.table(rows)
    cap = CAPS[0] if full else CAPS[0]._replace(text=_SHOWN_LETTERS, rows=_SHOWN_ROWS)
    views = {rendered.name: rendered.view for rendered in store.rendered(played.trial.id)}
    for file in outcome.deliverables:
        console.heading(f"{file.name} ({file.size_bytes:,} bytes)")
        for block in preview(views[file.name], cap) if file.name in views else ():
            _write_block(block)
    if outcome.final_answer:
        console.heading("Final answer")
        console.block(outcome.final_answer)
    if outcome.deliverables:
        console.say(f"`nightshift show {played.trial.id} --save DIR` takes the files out")


def _write_block(block: "Block") -> None:
    if title := _read(block.get("title", "")):
        console.block(title)
    if block["kind"] == "table":
        for row in block["rows"]:
            console.block(" | ".join(map(_read, row)), indent=4)
        if block["more"]:
            console.block(f"[{block['more']}]", indent=4)
    else:
        console.block(_read(block["text"]), indent=4)


def _read(shown: "Shown") -> str:
    """Return a text of a preview, with how much of it was left out."""
    if isinstance(shown, str):
        return shown
    text, left = shown
    return f"{text} [... {int(left):,} more characters]"
