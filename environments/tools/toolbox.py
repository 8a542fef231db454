"""The tools of one trial, over its sandbox."""

from collections.abc import Sequence

from environments.ports import Sandbox
from environments.tools.catalogue import catalogue
from environments.tools.finish import FINISH
from taskdata.errors import BadTaskData
from taskdata.schema.tool import ToolErrorKind, ToolResult, ToolSpec
from taskdata.schema.transcript import ToolCall

ALWAYS_PRESENT = ("list_files", "read_file", FINISH)
"""Tools that every trial has, whatever its task lists."""

_MAX_RAW_SHOWN = 200


class Toolbox:
    """The tools a task allows; answers every call, and never raises for the agent's mistakes."""

    def __init__(self, names: Sequence[str], sandbox: Sandbox) -> None:
        """Pick `names` from the catalogue; raises `BadTaskData` for a name it does not have."""
        known = catalogue()
        unknown = [name for name in names if name not in known]
        if unknown:
            raise BadTaskData(
                f"tools: {', '.join(map(repr, unknown))} not in the catalogue; "
                f"it has {', '.join(known)}"
            )
        self._tools = {name: known[name] for name in (*names, *ALWAYS_PRESENT)}
        self._sandbox = sandbox

    @property
    def specs(self) -> tuple[ToolSpec, ...]:
        """The tools as a harness shows them, in the task's order."""
        return tuple(tool.spec for tool in self._tools.values())

    async def call(self, call: ToolCall) -> ToolResult:
        """Return the result of `call`, or an error result that says what would work.

        Raises:
            SandboxFailed: our sandbox, not the agent, is at fault.
        """
        tool = self._tools.get(call.tool)
        if tool is None:
            return ToolResult(
                text=f"There is no tool {call.tool[:_MAX_RAW_SHOWN]!r}. "
                f"Tools: {', '.join(self._tools)}.",
                error=ToolErrorKind.UNKNOWN_TOOL,
            )
        if call.arguments is None:
            given = f" Given: {call.raw[:_MAX_RAW_SHOWN]!r}." if call.raw else ""
            return ToolResult(
                text=f"The arguments of {call.tool} could not be read: they must be one JSON "
                f'object, such as {{"path": "input/data.csv"}}.{given}',
                error=ToolErrorKind.BAD_ARGUMENTS,
            )
        return await tool.run(call.arguments, self._sandbox)
