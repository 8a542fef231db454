"""The metrics of GTA's published scorer over many tasks, under its names and with its quirks.

Percentages are 0-100, and F1 can pass 100. Mended metrics have names of their own that end in
`_mended`; docs/metrics.md says what each of them does otherwise.
"""

import math
from collections.abc import Iterable, Sequence

from pydantic import Field

from taskdata.errors import BadTaskData
from taskdata.schema.atomic import AnswerKind, EndToEndScore, ToolMatch
from taskdata.schema.base import Value
from taskdata.schema.task import Capability

_TINY = 1e-5
"""Added to denominators, as published, so that a perfect trace has an F1 just below 100."""


class EndToEndMetrics(Value):
    """What the published scorer returns in its mode `every`."""

    answer_acc: float | None
    """None, like the three others of answers: meanings had to be compared, and nothing does."""
    answer_acc_w_imggen: float | None
    tool_call: int
    tool_call_error: int
    p_f1: float
    o_f1: float
    l_f1: float
    c_f1: float
    total_ansacc: float | None
    total_ansacc_wimggen: float | None


class MendedEndToEnd(Value):
    """The same questions, asked without the quirks; percentages. None: nothing to measure."""

    answer_acc_mended: float | None
    answer_acc_w_imggen_mended: float | None
    p_f1_mended: float | None
    o_f1_mended: float | None
    l_f1_mended: float | None
    c_f1_mended: float | None


class StepMetrics(Value):
    """What the published scorer returns in its mode `every_with_gt`."""

    inst_align: float
    tool_acc: float
    arg_acc: float
    answer_acc: float | None
    """None: meanings had to be compared, and nothing does."""
    tool_call: int
    tool_call_error: int


class MendedSteps(Value):
    """The same questions, asked without the quirks; percentages. None: nothing to measure."""

    inst_align_mended: float | None
    tool_acc_mended: float | None
    arg_acc_mended: float | None
    answer_acc_mended: float | None


class StepCounts(Value):
    """What the predictions of one task add to the metrics of step by step mode."""

    tools: int = Field(ge=0)
    """Tool steps of the reference that have a prediction beside them."""
    steps: int = Field(ge=0)
    """Steps of the reference, predicted or not."""
    tool_steps: int = Field(ge=0)
    """Of these, tool steps."""
    aligned: int = Field(ge=0)
    right_tools: int = Field(ge=0)
    right_arguments: int = Field(ge=0)
    calls: int = Field(ge=0)
    errors: int = Field(ge=0)
    kind: AnswerKind
    answer: float | None
    answer_mended: float | None
    encoder: str | None = None


def end_to_end_metrics(scores: Sequence[EndToEndScore]) -> EndToEndMetrics:
    """Return the published metrics of traces, one score for each task.

    Raises:
        BadTaskData: There is no task.
    """
    if not scores:
        raise BadTaskData("there is no task to score: every metric is a share of tasks")
    texts = [score for score in scores if score.kind.is_text]
    answers = _total(score.score for score in texts)
    every = _total(score.score for score in scores)
    return EndToEndMetrics(
        answer_acc=_percentage(answers, len(texts)) if texts else 0.0,
        answer_acc_w_imggen=_percentage(every, len(scores)),
        tool_call=sum(score.tool_calls for score in scores),
        tool_call_error=sum(score.tool_errors for score in scores),
        p_f1=published_f1(tools_of(scores, Capability.PERCEPTION)),
        o_f1=published_f1(tools_of(scores, Capability.OPERATION)),
        l_f1=published_f1(tools_of(scores, Capability.LOGIC)),
        c_f1=published_f1(tools_of(scores, Capability.CREATIVITY)),
        total_ansacc=answers,
        total_ansacc_wimggen=every,
    )


def mended_end_to_end(scores: Sequence[EndToEndScore]) -> MendedEndToEnd:
    """Return the mended metrics of traces, one score for each task."""
    texts = [score for score in scores if score.kind.is_text]
    # An image-generation task whose reference calls no tool for it says nothing about the agent.
    told = [s for s in scores if s.kind.is_text or s.score is None or s.score_mended is not None]
    return MendedEndToEnd(
        answer_acc_mended=_percentage(_total(s.score_mended for s in texts), len(texts)),
        answer_acc_w_imggen_mended=_percentage(_total(s.score_mended for s in told), len(told)),
        p_f1_mended=mended_f1(tools_of(scores, Capability.PERCEPTION)),
        o_f1_mended=mended_f1(tools_of(scores, Capability.OPERATION)),
        l_f1_mended=mended_f1(tools_of(scores, Capability.LOGIC)),
        c_f1_mended=mended_f1(tools_of(scores, Capability.CREATIVITY)),
    )


def tools_of(scores: Iterable[EndToEndScore], category: Capability) -> ToolMatch:
    """Return the calls of one category over all tasks."""
    matches = [score.tools.get(category.value, ToolMatch()) for score in scores]
    return ToolMatch(
        reference=sum(match.reference for match in matches),
        found=sum(match.found for match in matches),
        predicted=sum(match.predicted for match in matches),
        matched=sum(match.matched for match in matches),
    )


def published_f1(match: ToolMatch) -> float:
    """Return the F1 of tool selection in per cent; 0 where the reference has no such call.

    One predicted call meets every call of its tool in the reference, so it can pass 100.
    """
    if not match.reference:
        return 0.0
    precision = match.found / (match.predicted + _TINY)
    recall = match.found / match.reference
    return 2 * precision * recall / (precision + recall + _TINY) * 100


def mended_f1(match: ToolMatch) -> float | None:
    """Return the F1 in per cent, each call being met by one faultless call of its own.

    None where neither the reference nor the traces have such a call.
    """
    calls = match.reference + match.predicted
    return 200 * match.matched / calls if calls else None


def step_metrics(counts: Sequence[StepCounts]) -> StepMetrics:
    """Return the published metrics of predicted steps, one entry for each task.

    Raises:
        BadTaskData: There is nothing that a metric could be a share of.
    """
    tools, answers = sum(one.tools for one in counts), sum(one.kind.is_text for one in counts)
    if not tools:
        raise BadTaskData(
            "none of the tasks has a tool step in its reference beside a prediction, so tool_acc "
            "and arg_acc are shares of nothing (the published scorer divides by zero); add one"
        )
    if not answers:
        raise BadTaskData(
            "none of the tasks has a gt_answer to compare a text with, so answer_acc is a share of "
            "nothing (the published scorer divides by zero); add one, or score end to end"
        )
    right = _total(one.answer for one in counts if one.kind.is_text)
    return StepMetrics(
        inst_align=sum(one.aligned for one in counts) / (tools + answers) * 100,
        tool_acc=sum(one.right_tools for one in counts) / tools * 100,
        arg_acc=sum(one.right_arguments for one in counts) / tools * 100,
        answer_acc=_percentage(right, answers),
        tool_call=sum(one.calls for one in counts),
        tool_call_error=sum(one.errors for one in counts),
    )


def mended_steps(counts: Sequence[StepCounts]) -> MendedSteps:
    """Return the mended metrics of predicted steps, one entry for each task."""
    tools, texts = sum(one.tool_steps for one in counts), [c for c in counts if c.kind.is_text]
    return MendedSteps(
        inst_align_mended=_percentage(
            sum(one.aligned for one in counts), sum(one.steps for one in counts)
        ),
        tool_acc_mended=_percentage(sum(one.right_tools for one in counts), tools),
        arg_acc_mended=_percentage(sum(one.right_arguments for one in counts), tools),
        answer_acc_mended=_percentage(_total(c.answer_mended for c in texts), len(texts)),
    )


def _total(scores: Iterable[float | None]) -> float | None:
    """Return the sum; None where one of them is not known."""
    known = list(scores)
    return None if None in known else math.fsum(score or 0.0 for score in known)


def _percentage(total: float | None, of: int) -> float | None:
    return None if total is None or not of else total / of * 100
