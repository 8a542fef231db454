"""The validate stage: rules that code can decide, and a model's opinion on the rest.

The tree is checked only if it belongs to the current task; otherwise it is regenerated anyway.
"""

from dataclasses import replace

from environments.models.registry import model_client
from stages.construct.asking.harm_opinion import draft_opinion
from stages.construct.asking.opinions import Opinion, opinion
from stages.construct.case import Case
from stages.construct.history import VIOLATIONS, tree_is_current
from stages.construct.rewrite import repairs
from stages.construct.rules.book import violations
from stages.construct.rules.violation import Violation
from stages.construct.work import Connect, StepOutcome, invalid, walk
from taskdata.schema.construct import CandidateStatus, Construction
from taskdata.schema.run import StageReport
from taskdata.store import Store

_REASONS = 20


def do(store: Store, refresh_id: str, connect: Connect = model_client) -> StageReport:
    """Validate every due candidate.

    A clean candidate goes on to the checkpoints stage, and so does one with violations only in its
    tree. Any other is rewritten, at most `max_rewrites` times, and then quarantined. Raises like
    `work.walk`.
    """
    return walk(store, refresh_id, Construction.VALIDATE, _take, connect)


async def _take(case: Case) -> StepOutcome:
    draft = case.drafted()
    with_tree = tree_is_current(draft, case.steps)
    broken = violations(draft, case.book, tree=with_tree)
    said = await opinion(case, draft, "both" if with_tree else "task")
    if not said.is_given:
        return invalid(said.asked, violations=[v.model_dump() for v in broken])
    found, tally = (*broken, *said.violations), said.asked.tally
    if case.shop.config.safety.ask_model:
        harmful, asked = await draft_opinion(case, draft)
        tally += asked.tally
        if asked.answer is None:
            return invalid(asked, tally, violations=[v.model_dump() for v in found])
        found += harmful
    return replace(_decided(case, said, found), tally=tally)


def _decided(case: Case, said: Opinion, found: tuple[Violation, ...]) -> StepOutcome:
    if not found:
        return _outcome("clean", said, found, Construction.CHECKPOINTS)
    if all(violation.is_of_tree for violation in found):
        return _outcome(VIOLATIONS, said, found, Construction.CHECKPOINTS)
    mended = repairs(case.steps)
    if mended >= case.shop.config.max_rewrites:
        return _outcome(VIOLATIONS, said, found, None, mended)
    return _outcome(VIOLATIONS, said, found, Construction.REWRITE)


def _outcome(
    verdict: str,
    said: Opinion,
    found: tuple[Violation, ...],
    goes_on: Construction | None,
    mended: int = 0,
) -> StepOutcome:
    listed = "; ".join(map(str, found))
    return StepOutcome(
        verdict,
        next=goes_on,
        status=CandidateStatus.QUARANTINED if goes_on is None else None,
        reason=f"after {mended} rewrites still: {listed}"[:1_000] if goes_on is None else "",
        reasons=tuple(str(violation) for violation in found[:_REASONS]),
        facts={VIOLATIONS: [v.model_dump() for v in found], "ignored": list(said.ignored)},
        prompt_version=said.asked.prompt_version,
    )
