"""A judge's opinion of an answer to a planning case: errors, or whether another tool is sensible.

A reply that does not fit is asked for again, a limited number of times; then there is no verdict,
and never a number. If the judge cannot be reached or paid for now, the trial stays due.
"""

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from environments.models.faults import NotRecorded
from environments.ports import ModelClient, ModelReply
from stages.score.judging.addressed import cleared, without_doubtful
from stages.score.judging.doubtful import stems
from stages.score.judging.judge import OURS_TO_MEND
from stages.score.judging.sight import Sight
from stages.score.matching import quote, storable
from stages.score.planning.grade import grade_of
from stages.score.planning.pictures import CasePictures
from stages.score.planning.question import MOST_ERRORS, NO_PICTURES, PlanQuestion, plan_question
from taskdata.errors import JudgeUnreadable, ModelRejected
from taskdata.schema.planning import Form, PlanningCase
from taskdata.schema.planning_score import ErrorFlag, PlanError, PredictedPlan, Severity
from taskdata.schema.task import Task

PLAN_PROMPT_VERSION = 2
"""Version of `prompts/plan_judge.md` and of how a judge is asked about plans."""

_logger = logging.getLogger(__name__)
_EVIDENCE_CHARS = 1_000


class _Found(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    error: Literal["E1", "E2", "E3", "E4", "E5", "E6"]
    severity: Literal["trivial", "minor", "moderate", "major", "total"]
    step: int | None = None
    evidence: Annotated[str, Field(min_length=1)]


class _Errors(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    errors: Annotated[list[_Found], Field(max_length=MOST_ERRORS)]


class _Behaviour(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    reasonable: bool
    evidence: Annotated[str, Field(min_length=1)]


@dataclass(frozen=True)
class Opinion:
    """What one judge says."""

    label: str
    """The judge, as flags and verifiers name it."""
    flags: tuple[ErrorFlag, ...] = ()
    reasonable: bool | None = None
    """Whether another tool than the substitute leads on; None: that was not asked."""
    fault: str = ""
    """Why there is no verdict."""


@dataclass(frozen=True)
class PlanJudge:
    """One judge of one trial's answer."""

    asks: Sequence[ModelClient]
    """One client for each time that it may be asked the same, in order."""
    model: str
    sight: Sight
    blind: bool
    pictures: CasePictures = NO_PICTURES
    """Of the case, as this judge sees them."""

    async def opinion(self, task: Task, case: PlanningCase, answer: PredictedPlan) -> Opinion:
        """Return the judge's opinion; sentences that may address it can only make it worse.

        Raises:
            ModelUnavailable, BudgetExhausted, ModelRejected, NotRecorded: as `LeafJudge` does.
        """
        whole = await asyncio.to_thread(self._question, task, case, answer, [])
        first = await self._ask(whole, case, answer)
        if first.fault or not whole.may_speak:
            return first
        familiar = [task.query, case.system_prompt, *(t.description for t in case.tools)]
        second = await asyncio.to_thread(self._question, task, case, answer, familiar)
        if second.request.messages[-1].text == whole.request.messages[-1].text:
            return first
        return worse(first, await self._ask(second, case, answer))

    def _question(
        self, task: Task, case: PlanningCase, answer: PredictedPlan, familiar: Sequence[str]
    ) -> PlanQuestion:
        """Return the question; with familiar words, without sentences that may address a judge."""
        clear = without_doubtful(stems(familiar)) if familiar else cleared
        most = self.sight.max_tokens
        return plan_question(
            task,
            case,
            answer,
            blind=self.blind,
            most_tokens=most,
            clear=clear,
            pictures=self.pictures,
        )

    async def _ask(
        self, question: PlanQuestion, case: PlanningCase, answer: PredictedPlan
    ) -> Opinion:
        fault = ""
        label = self._label(self.model)
        for client in self.asks:
            try:
                reply = await client.reply(question.request)
            except NotRecorded:
                raise
            except ModelRejected as exc:
                # No word on the question: the key, the account or the model's name is wrong.
                if exc.status in OURS_TO_MEND:
                    raise
                return Opinion(label, fault=f"the judge gave no verdict: {exc}")
            label = self._label(reply.model or self.model)
            try:
                return _read(reply, question, label, case, answer)
            except JudgeUnreadable as exc:
                fault = str(exc)
                _logger.warning("%s", fault)
        return Opinion(label, fault=f"after {len(self.asks)} asks: {fault}")

    def _label(self, model: str) -> str:
        return f"judge:{model}{self.sight.qualifier}@{PLAN_PROMPT_VERSION}"


def worse(first: Opinion, second: Opinion) -> Opinion:
    """Return the opinion that is worse for the plan; without a verdict there is none."""
    if second.fault or second.reasonable is False:
        return second
    return second if grade_of(second.flags) < grade_of(first.flags) else first


def _read(
    reply: ModelReply,
    question: PlanQuestion,
    label: str,
    case: PlanningCase,
    answer: PredictedPlan,
) -> Opinion:
    """Return the opinion in a reply; raises `JudgeUnreadable` if it does not fit the schema."""
    try:
        if question.about_behaviour:
            said = _Behaviour.model_validate_json(reply.text)
            flags = () if said.reasonable else (_unreasonable(said.evidence, label),)
            return Opinion(label, flags, said.reasonable)
        errors = _Errors.model_validate_json(reply.text).errors
    except ValidationError as exc:
        fault = exc.errors(include_url=False, include_context=False)[0]
        where = ".".join(map(str, fault["loc"])) or "reply"
        raise JudgeUnreadable(
            f"the judge's reply about a plan is no verdict ({where}: {fault['msg']}): "
            f"{quote(reply.text)}"
        ) from exc
    return Opinion(label, tuple(_flag(one, label, case, answer) for one in errors))


def _flag(found: _Found, label: str, case: PlanningCase, answer: PredictedPlan) -> ErrorFlag:
    error, severity = PlanError(found.error), Severity(found.severity)
    if severity is Severity.TRIVIAL and error is not PlanError.TOOL_USE:
        severity = Severity.MINOR
    first = len(case.prefix) + 1
    known = found.step is not None and first <= found.step < first + len(answer.chain)
    ends_early: Literal["premature_conclusion", "task_incompleteness"] = (
        "task_incompleteness" if case.form is Form.HOLISTIC else "premature_conclusion"
    )
    return ErrorFlag(
        error=error,
        severity=severity,
        subtype=ends_early if error is PlanError.UNFINISHED else None,
        step=found.step if known else None,
        evidence=storable(found.evidence)[:_EVIDENCE_CHARS],
        decided_by=label,
    )


def _unreasonable(evidence: str, label: str) -> ErrorFlag:
    return ErrorFlag(
        error=PlanError.LOGIC,
        severity=Severity.MODERATE,
        evidence=storable(evidence)[:_EVIDENCE_CHARS],
        decided_by=label,
    )
