"""The classify stage: whether a draft is augmented, refined, deleted or kept (GTA-2, 3.3.4)."""

import asyncio

from environments.models.registry import model_client
from stages.construct.answers.drafts import shown_draft
from stages.construct.answers.forms import ClassForm
from stages.construct.asking.ask import as_is
from stages.construct.case import Case
from stages.construct.work import Connect, StepOutcome, invalid, walk
from taskdata.schema.construct import CandidateStatus, Construction
from taskdata.schema.run import StageReport
from taskdata.store import Store

DELETION = "deletion"
PASS = "pass"  # noqa: S105 - a verdict


def do(store: Store, refresh_id: str, connect: Connect = model_client) -> StageReport:
    """Sort every due candidate into augmentation, refinement, deletion or pass.

    A deleted candidate leaves the flow; a passing one is not rewritten but still validated. Raises
    like `work.walk`.
    """
    return walk(store, refresh_id, Construction.CLASSIFY, _take, connect)


async def _take(case: Case) -> StepOutcome:
    context = await asyncio.to_thread(case.context)
    shown = shown_draft(case.drafted())
    asked = await case.ask("classify", context | {"draft": shown}, ClassForm, as_is)
    if asked.answer is None:
        return invalid(asked)
    verdict, reasons = asked.answer.verdict, asked.answer.reasons
    deleted = verdict == DELETION
    goes_on = Construction.VALIDATE if verdict == PASS else Construction.REWRITE
    return StepOutcome(
        verdict,
        next=None if deleted else goes_on,
        status=CandidateStatus.DELETED if deleted else None,
        reason="; ".join(reasons)[:1_000] if deleted else "",
        reasons=reasons,
        tally=asked.tally,
        prompt_version=asked.prompt_version,
    )
