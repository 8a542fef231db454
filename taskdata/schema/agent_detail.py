"""What `results --detail` shows of each agent, beyond the summary of its run."""

from pydantic import Field

from taskdata.schema.base import Value
from taskdata.schema.estimate import Estimate


class GroupResult(Value):
    """What an agent reached on one group of tasks."""

    root_score: Estimate
    root_sr: Estimate
    leaf_sr: Estimate


class FaultSplit(Value):
    """Trials with and without a kind of fault or burden of tool calls (Toolathlon, section 5)."""

    calls: Estimate
    """Share of tool calls, over those that were recorded."""
    trials: Estimate
    """Share of trials that had any."""
    root_sr_with: Estimate
    root_sr_without: Estimate


class Spread(Value):
    """Mean and standard deviation over runs of all tasks: repetition 1 is the first run."""

    mean: float | None
    sd: float | None
    """With n - 1 in the denominator; None below two runs."""
    runs: int


class TurnGroup(Value):
    """A third of the tasks, by the turns that all agents took on average (Toolathlon, figure 6)."""

    least_turns: float
    most_turns: float
    tasks: int
    root_sr: Estimate


class VerificationGroup(Value):
    """Trials of one level of self-verification (TOBench, section 5)."""

    trials: Estimate
    """Share of the trials whose level is known."""
    root_sr: Estimate


class ServerGroup(Value):
    """Trials of the tasks that need one MCP server."""

    tasks: int
    trials: int
    root_sr: Estimate
    turns: Estimate
    """Per trial."""
    cost_usd: Estimate
    """Per trial; without mean where a price is unknown."""


class AgentDetail(Value):
    """What `results --detail` shows of an agent's first attempts, every figure with its interval.

    Shares are 0-1. The groups are those of GTA-2, sections 4.2.2 and 6.2, and figures 4 to 7.
    """

    harness: str
    model: str | None
    root_sr_at: dict[str, Estimate]
    leaf_sr: Estimate
    tool_sr: Estimate
    """Over tool calls."""
    capability_sr: dict[str, Estimate]
    category: dict[str, GroupResult]
    deliverable_type: dict[str, GroupResult]
    """A task that asks for two types counts for both."""
    deliverable_group: dict[str, GroupResult]
    """structured_data, multimedia, slides and text."""
    leaves: dict[str, GroupResult]
    """By the leaves of the checkpoint tree: 3-7, 8-12, 13-19; `other` where there are others."""
    family_difficulty: dict[str, GroupResult] = Field(default_factory=dict)
    """By `family, difficulty`, for tasks that name a family (TOBench, table 2)."""
    subcategory: dict[str, GroupResult] = Field(default_factory=dict)
    """By `family, subcategory`, for tasks that name both."""
    seconds: Estimate
    """Per trial."""
    cost_usd: Estimate
    """Per trial; without mean where a price is unknown."""
    score_per_usd: float | None
    turns: Estimate
    """Per trial: the steps of GTA-2's figure 7."""
    output_tokens: Estimate
    """Per trial."""
    pass_at_1: Spread
    tool_faults: dict[str, FaultSplit]
    """wrong_tool_name, call_error, overlong_output."""
    turn_groups: dict[str, TurnGroup]
    """easy, medium, hard; empty below three tasks with known turns."""
    self_verification: dict[str, VerificationGroup] = Field(default_factory=dict)
    """none, existence, looked; empty where no trial delivered anything that has a look."""
    server: dict[str, ServerGroup] = Field(default_factory=dict)
    """Results by MCP server; a task that needs two servers counts for both."""
