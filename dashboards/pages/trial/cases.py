"""The answer to a planning case beside its reference, with the errors that were found in it."""

from collections.abc import Sequence
from itertools import zip_longest
from typing import Any

from dashboards.pages import formats
from dashboards.pages.trial.caps import Cap, Shown, shown, shown_json
from taskdata.schema.planning import PlannedAction, PlanningCase
from taskdata.schema.planning_score import ErrorFlag, PlanningScore, PredictedPlan

Shape = dict[str, Any]
_UNDECIDED = {
    "no_judge": "undecided: code proves no error, and there is no judge",
    "no_verdict": "undecided: the judge gave no verdict",
}


def case_facts(case: PlanningCase, score: PlanningScore | None) -> list[tuple[str, str]]:
    """Return what was asked for and what the answer was found to be, as names and texts."""
    setting = formats.words(case.setting)
    kind = f" ({formats.words(case.infeasibility)})" if case.infeasibility else ""
    asked = "the whole plan" if case.horizon is None else f"the next {case.horizon}"
    facts = [("Setting", f"{setting}{kind}"), ("Asked for", asked)]
    if score is None:
        return facts
    wrong = "no: the answer could not be read" if score.unreadable else "no"
    verdict = {True: "yes", False: wrong, None: _UNDECIDED.get(score.undecided, "undecided")}
    facts.append(("Correct", verdict[score.correct]))
    facts.append(("Grade", "none" if score.grade is None else f"{score.grade:g}"))
    errors = ", ".join(sorted(error.value for error in score.errors))
    facts.append(("Errors", errors or "none"))
    if score.behaviour is not None:
        facts.append(("After the failure", formats.words(score.behaviour)))
    if score.cost is not None:
        facts.append(("Cost of its calls", f"{score.cost}, at least {case.optimum} is needed"))
    if score.extraneous:
        facts.append(("Tools of no use", ", ".join(score.extraneous)))
    if score.traps:
        facts.append(("Traps", ", ".join(score.traps)))
    return facts


def flag_sentences(flags: Sequence[ErrorFlag]) -> list[str]:
    """Return each error as a sentence with its evidence and who found it."""
    return [
        f"{flag.error.value}, {flag.severity.value}"
        + (f" ({formats.words(flag.subtype)})" if flag.subtype else "")
        + (f", step {flag.step}" if flag.step else "")
        + f": {flag.evidence} [{flag.decided_by}]"
        for flag in flags
    ]


def answered(
    case: PlanningCase | None,
    predicted: PredictedPlan | None,
    score: PlanningScore | None,
    cap: Cap,
) -> Shape | None:
    """Return the answer, its errors and the reference; None: the task is no planning case."""
    if case is None:
        return None
    answer = predicted or PredictedPlan()
    flags = () if score is None else score.flags
    reference = case.reference
    return {
        "facts": [[name, shown(text, cap.reason)] for name, text in case_facts(case, score)],
        "flags": [shown(text, cap.reason) for text in flag_sentences(flags)[: cap.nodes]],
        "fault": shown(answer.fault, cap.reason),
        "said": _said(answer.plan, answer.refusal, answer.final_answer or "", cap),
        "expected": _said(
            reference.plan,
            reference.refusal,
            "due after the calls" if reference.ends else "",
            cap,
        ),
        "rules": [shown(rule.requirement, cap.reason) for rule in reference.rules[: cap.nodes]],
        "chain": _chain(case, answer, flags, cap),
    }


def _said(
    plan: Sequence[str], refusal: str, final_answer: str, cap: Cap
) -> list[list[str | Shown]]:
    """Return the words of an answer beside its calls, as names and texts."""
    steps = "\n".join(f"{number}. {step}" for number, step in enumerate(plan, 1))
    words = {"Plan": steps, "Refusal": refusal, "Final answer": final_answer}
    return [[name, shown(text, cap.text)] for name, text in words.items() if text]


def _chain(
    case: PlanningCase, answer: PredictedPlan, flags: Sequence[ErrorFlag], cap: Cap
) -> list[Shape]:
    """Return a row for each call of the answer or of the reference, by its place."""
    first = len(case.prefix) + 1
    pairs = list(zip_longest(case.reference.chain, answer.chain))
    rows = [
        _row(place, expected, given, [flag for flag in flags if flag.step == place], cap)
        for place, (expected, given) in enumerate(pairs[: cap.nodes], first)
    ]
    left = len(pairs) - len(rows) + answer.left_out
    return [*rows, {"more": f"{formats.plural(left, 'call')} not shown"}] if left else rows


def _row(
    place: int,
    expected: PlannedAction | None,
    given: PlannedAction | None,
    flags: Sequence[ErrorFlag],
    cap: Cap,
) -> Shape:
    marks: list[list[Any]] = []
    # Another tool at this place is no error for being another.
    if expected is not None and given is not None and expected.tool == given.tool:
        marks.append(["tool of the reference", True])
    return {
        "place": str(place),
        "expected": _call(expected, cap),
        "predicted": _call(given, cap),
        "error": shown("; ".join(flag_sentences(flags)), cap.reason),
        "marks": marks,
    }


def _call(action: PlannedAction | None, cap: Cap) -> list[Shown]:
    if action is None:
        return ["none", ""]
    arguments = shown_json(action.arguments, cap.text) if action.arguments else ""
    return [shown(action.tool, cap.reason), arguments]
