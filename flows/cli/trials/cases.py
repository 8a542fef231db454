"""The answer to a planning case and its errors, for reading in a terminal."""

import json
from collections.abc import Sequence

from dashboards.pages.trial.cases import case_facts, flag_sentences
from flows.cli import console
from taskdata.schema.planning import PlannedAction, PlanningCase
from taskdata.schema.planning_score import PlanningScore, PredictedPlan

_SHOWN_LETTERS = 1_000


def write_case(
    case: PlanningCase, predicted: PredictedPlan | None, score: PlanningScore | None
) -> None:
    """Write what the planner answered, what was found in it, and the reference."""
    console.heading("\nPlanning case")
    for name, text in case_facts(case, score):
        console.block(f"{name}: {text}")
    for sentence in () if score is None else flag_sentences(score.flags):
        console.block(f"- {sentence}")
    first = len(case.prefix) + 1
    if predicted is None:
        console.say("\nNothing was answered.")
    elif predicted.fault:
        console.block(f"\nThe answer could not be read: {predicted.fault}")
    else:
        _write(
            "Answer",
            predicted.plan,
            predicted.chain,
            first,
            refusal=predicted.refusal,
            final_answer=predicted.final_answer or "",
        )
        if predicted.left_out:
            console.say(f"{predicted.left_out} more calls were not read")
    reference = case.reference
    ends = "due after the calls" if reference.ends else ""
    _write(
        "Reference",
        reference.plan,
        reference.chain,
        first,
        refusal=reference.refusal,
        final_answer=ends,
    )


def _write(
    title: str,
    plan: Sequence[str],
    chain: Sequence[PlannedAction],
    first: int,
    *,
    refusal: str,
    final_answer: str,
) -> None:
    console.heading(f"\n{title}")
    for step in plan:
        console.block(f"- {_cut(step)}")
    for place, action in enumerate(chain, first):
        arguments = json.dumps(action.arguments, ensure_ascii=False)
        console.block(f"{place}. {action.tool} {_cut(arguments)}")
    if refusal:
        console.block(f"Refusal: {_cut(refusal)}")
    if final_answer:
        console.block(f"Final answer: {_cut(final_answer)}")


def _cut(text: str) -> str:
    return text if len(text) <= _SHOWN_LETTERS else f"{text[:_SHOWN_LETTERS]} [...]"
