"""Which tools the agents of a night called, and why calls gave no result."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

from taskdata.schema.night import NightTool
from taskdata.schema.run import TrialResult
from taskdata.schema.tool_use import ToolUse

_MOST = 60
"""Tools of one agent, those with most failed calls first."""


def night_tools(
    results: Iterable[TrialResult], *, without: Sequence[str] = ()
) -> tuple[NightTool, ...]:
    """Return the calls of each tool by each agent, over the trials whose calls are known.

    Args:
        results: First attempts.
        without: Agents whose calls say nothing, as those of controls.
    """
    uses: dict[tuple[str, str], list[ToolUse]] = defaultdict(list)
    for result in results:
        if result.trial.agent in without or result.outcome is None:
            continue
        for use in result.outcome.tool_uses or ():
            uses[result.trial.agent, use.tool].append(use)
    by_agent: dict[str, list[NightTool]] = defaultdict(list)
    for (agent, tool), own in uses.items():
        by_agent[agent].append(_tool(agent, tool, own))
    return tuple(
        tool
        for agent in sorted(by_agent)
        for tool in sorted(by_agent[agent], key=lambda t: (-t.failed, -t.calls, t.tool))[:_MOST]
    )


def _tool(agent: str, tool: str, uses: Sequence[ToolUse]) -> NightTool:
    errors = Counter[str]()
    for use in uses:
        errors.update({kind.value: count for kind, count in use.errors.items()})
    # A task may bring a tool of its own under the name of one that others do not have.
    known = [use.category.value for use in uses if use.category is not None]
    return NightTool(
        agent=agent,
        tool=tool,
        category=known[-1] if known else None,
        trials=len(uses),
        calls=sum(use.calls for use in uses),
        errors=dict(sorted(errors.items())),
    )
