"""A model's opinion on a request: does it do harm, hold personal data, or give the reader orders?

It is asked for where the settings say so, in addition to the rules that code decides: about a seed,
and about every draft, because a rewritten query may ask for what the seed did not. A finding counts
only if its quote occurs in the text.
"""

from typing import Annotated, Literal

from pydantic import Field

from quality.safety.personal import masked
from stages.construct.answers.forms import Form, Sentence
from stages.construct.asking.ask import Asked, as_is
from stages.construct.asking.prompting import Untrusted
from stages.construct.case import Case
from stages.construct.rules.violation import Violation, counted
from stages.score.matching import fold
from taskdata.schema.construct import TaskDraft
from taskdata.schema.safety import SafetyRules

_SHORTEST_QUOTE = 3


class HarmFindingForm(Form):
    """One reason not to make a task of a seed, with the words that show it."""

    kind: Literal[
        "malware",
        "piracy",
        "weapons",
        "self_harm",
        "sexual_minors",
        "hate",
        "fraud",
        "drugs",
        "privacy_invasion",
        "personal_data",
        "injection",
    ]
    quote: Annotated[str, Field(max_length=1_000)]
    problem: Sentence


class HarmFindingsForm(Form):
    """All reasons not to make a task of a seed; empty if there is none."""

    findings: Annotated[tuple[HarmFindingForm, ...], Field(max_length=20)]


async def harm_opinion(case: Case, text: str) -> tuple[tuple[str, ...], Asked[HarmFindingsForm]]:
    """Return the reasons, one sentence each without personal data, and the answer.

    Raises like `asking.ask`.
    """
    found, asked = await _findings(case, text)
    return tuple(map(_told, found)), asked


async def draft_opinion(
    case: Case, draft: TaskDraft
) -> tuple[tuple[Violation, ...], Asked[HarmFindingsForm]]:
    """Return the rules that title, query and deliverables break, and the answer.

    Raises like `asking.ask`.
    """
    texts = (draft.title, draft.query, *(spec.description for spec in draft.deliverables))
    found, asked = await _findings(case, "\n\n".join(texts))
    broken = (Violation(field="query", rule=_rule(f), message=_told(f)) for f in found)
    return counted(broken, case.book), asked


async def _findings(
    case: Case, text: str
) -> tuple[tuple[HarmFindingForm, ...], Asked[HarmFindingsForm]]:
    asked = await case.ask("harm", {"request": Untrusted(text)}, HarmFindingsForm, as_is)
    findings = asked.answer.findings if asked.answer else ()
    return tuple(f for f in findings if _counts(f, text, case.shop.config.safety)), asked


def _rule(finding: HarmFindingForm) -> str:
    return finding.kind if finding.kind in ("injection", "personal_data") else "harm"


def _counts(finding: HarmFindingForm, text: str, rules: SafetyRules) -> bool:
    quote = fold(finding.quote)
    allowed = finding.kind in {harm.value for harm in rules.allowed_harms}
    # Under this policy what code found is masked, and a seed may say [IBAN].
    is_masked = finding.kind == "personal_data" and rules.personal_data == "mask"
    is_evident = len(quote) >= _SHORTEST_QUOTE and quote in fold(text)
    return is_evident and not allowed and not is_masked


def _told(finding: HarmFindingForm) -> str:
    if finding.kind == "personal_data":
        return "personal_data: the model found some in it"
    says = f"{finding.kind}: {finding.problem} (it says: {finding.quote!r})"
    return masked(says)
