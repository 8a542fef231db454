"""Tools that are offered in words alone: a planner names them, and nothing is run."""

from collections.abc import Sequence

from environments.tool_runtime.toolbox import Toolbox
from environments.toolkit.host_tool import HostToolContext
from environments.toolkit.turns import AgentContext
from taskdata.errors import Misuse
from taskdata.schema.tool import ToolResult, ToolSpec
from taskdata.schema.transcript import ToolCall


class OfferedTools(Toolbox):
    """The tools of a planning case."""

    def __init__(self, specs: Sequence[ToolSpec]) -> None:
        """Offer these tools; no sandbox is needed."""
        self._context = HostToolContext()
        self._specs = tuple(specs)

    def attach(self, context: AgentContext) -> None:
        """Do nothing: a planner cannot manage its context."""

    def offer(self, *names: str) -> None:
        """Do nothing: no tool that a case does not have may be named in a plan."""

    async def call(self, call: ToolCall) -> ToolResult:
        """Raise `Misuse`: nothing is carried out for a planner."""
        raise Misuse(f"tool {call.tool[:80]!r} was called for a planner, which only plans")
