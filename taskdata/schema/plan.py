"""The plan that an agent's model makes before the agent begins (APB, section 5.1)."""

from datetime import datetime
from typing import Literal, get_args

from pydantic import Field

from taskdata.schema.base import Value
from taskdata.schema.usage import FailedAttempt, Usage

Planning = Literal["direct", "plan_first", "plan_refine"]
"""`direct`: no plan. `plan_first`: the model is asked for a plan, which its harness then begins
with. `plan_refine`: in between the model is asked once to criticise and improve that plan."""

WAYS_OF_PLANNING: tuple[str, ...] = get_args(Planning)


class PlanStep(Value):
    """One step of a plan; its number is its place."""

    purpose: str = Field(min_length=1)
    tool: str | None = None
    """The tool as the model named it, which need not exist; None: the step uses none."""


class PlanReply(Value):
    """One model call in which a plan was asked for."""

    text: str
    thinking: str = ""
    model: str
    """Model id as reported by the provider."""
    fault: str = ""
    """Why no plan could be read from it; empty if one could."""
    usage: Usage = Usage()
    cost_usd: float | None = None
    """None: the price is unknown."""
    started_at: datetime
    seconds: float = Field(ge=0)
    waited_seconds: float = Field(default=0.0, ge=0)
    """In line for rate limits, and for another trial that asked for the same plan."""
    failed_attempts: tuple[FailedAttempt, ...] = ()
    cached: bool = False
    """Another trial has paid for it: usage and cost are what it took when it was asked."""


class PlanVersion(Value):
    """The draft of a plan, or the plan after its refinement."""

    steps: tuple[PlanStep, ...] = ()
    """Empty if no plan could be read from the replies."""
    criticism: str = ""
    """What the model said against the draft; of a refined plan only."""
    fault: str = ""
    """Why it has no steps: the fault of the last reply, or what the provider refused."""
    replies: tuple[PlanReply, ...] = ()
    """More than one if the first could not be read."""

    @property
    def text(self) -> str:
        """The numbered steps; without any, the model's last reply as it wrote it."""
        if not self.steps:
            return self.replies[-1].text.strip() if self.replies else ""
        return "\n".join(
            f"{number}. {step.tool}: {step.purpose}" if step.tool else f"{number}. {step.purpose}"
            for number, step in enumerate(self.steps, start=1)
        )


class Plan(Value):
    """How a trial was planned; its calls are part of the trial's usage, cost and time."""

    draft: PlanVersion
    refined: PlanVersion | None = None
    """None: it was not to be refined, or there was nothing to refine, or no budget for it."""

    @property
    def calls(self) -> tuple[tuple[Literal["draft", "refined"], PlanReply], ...]:
        """The model calls in order, each with the version that it was for."""
        refined = self.refined.replies if self.refined is not None else ()
        return (
            *(("draft", reply) for reply in self.draft.replies),
            *(("refined", reply) for reply in refined),
        )

    @property
    def replies(self) -> tuple[PlanReply, ...]:
        """The model calls in order."""
        return tuple(reply for _, reply in self.calls)

    @property
    def followed(self) -> PlanVersion:
        """The version that the harness begins with: a refined plan that could be read."""
        return self.refined if self.refined is not None and self.refined.steps else self.draft

    @property
    def usage(self) -> Usage:
        """Sum over its model calls."""
        return sum((reply.usage for reply in self.replies), Usage())

    @property
    def cost_usd(self) -> float | None:
        """Sum over its model calls; None: a price is unknown."""
        costs = [reply.cost_usd for reply in self.replies if reply.cost_usd is not None]
        return sum(costs) if len(costs) == len(self.replies) else None
