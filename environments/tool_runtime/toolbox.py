"""The tools of one trial, over its sandbox."""

from collections.abc import Sequence

from environments.models.wire.arguments import fault_of
from environments.ports import Sandbox, Tool
from environments.tool_runtime.catalogue import catalogue, type_text
from environments.tool_runtime.naming import nearest_name
from environments.tool_runtime.sandboxed import SandboxedTool
from environments.tool_runtime.warm.python import WarmPython
from environments.toolkit.host_tool import HostTool, HostToolContext, TrialMoney
from environments.toolkit.turns import AgentContext
from environments.tools.session.finish import FINISH
from environments.tools.session.looking_back import HISTORY
from environments.tools.session.managing_context import MANAGE_CONTEXT
from environments.tools.session.overlong import OVERLONG, cut_overlong
from taskdata.errors import BadTaskData, ModelUnavailable, ToolUnavailable
from taskdata.schema.tool import ToolErrorKind, ToolResult, ToolSpec
from taskdata.schema.transcript import ToolCall

ALWAYS_PRESENT = ("list_files", "read_file", FINISH)
"""Tools that every trial has, whatever its task lists."""

RESERVED = (*ALWAYS_PRESENT, OVERLONG, HISTORY, MANAGE_CONTEXT)
"""Names that are ours in every trial: the last ones are offered once there is a use for them."""

_MAX_RAW_SHOWN = 200


class Toolbox:
    """The tools a task allows; answers every call, and never raises for the agent's mistakes."""

    def __init__(
        self,
        names: Sequence[str],
        sandbox: Sandbox,
        context: HostToolContext | None = None,
        more: Sequence[Tool] = (),
    ) -> None:
        """Pick tools from the catalogue for one trial.

        Args:
            names: Those the task allows.
            sandbox: Of the trial.
            context: What its host tools share; without one their services are not configured.
            more: Tools that are not of the catalogue: those of the trial's MCP servers.

        Raises:
            BadTaskData: The catalogue has no tool of that name.
        """
        known = catalogue()
        unknown = [name for name in names if name not in known]
        if unknown:
            raise BadTaskData(
                f"tools: {', '.join(map(repr, unknown))} not in the catalogue; "
                f"it has {', '.join(known)}"
            )
        self._context = context or HostToolContext()
        self._python = WarmPython(sandbox)
        self._tools = {name: self._placed(known[name]) for name in (*names, *ALWAYS_PRESENT)}
        self._tools |= {tool.spec.name: tool for tool in more}
        self._sandbox = sandbox
        self._specs = tuple(tool.spec for tool in self._tools.values())

    @property
    def specs(self) -> tuple[ToolSpec, ...]:
        """The tools as a harness shows them, in the task's order; it may grow during a trial."""
        return self._specs

    def attach(self, context: AgentContext) -> None:
        """Let the tools about the agent's context act on this one."""
        self._context.agent = context

    def pay_from(self, money: TrialMoney) -> None:
        """Let the models of tools be paid from this, and held to what is left of it."""
        self._context.money = money

    def offer(self, *names: str) -> None:
        """Offer more tools of the catalogue from now on, beside the task's."""
        for name in names:
            if name not in self._tools:
                self._tools[name] = self._placed(catalogue()[name])
                self._specs = (*self._specs, self._tools[name].spec)

    def show(self, chars: int) -> None:
        """Show at most so much of each result from now on; the rest can be read in pages."""
        self._context.kept.show(chars)

    def shown(self, result: ToolResult) -> ToolResult:
        """Return a result as the agent is shown it, which it may then read on in."""
        cut = cut_overlong(result, self._context.kept)
        if cut is not result:
            self.offer(OVERLONG)
        return cut

    async def call(self, call: ToolCall) -> ToolResult:
        """Return the whole result of `call`, or an error result that says what would work.

        Raises:
            SandboxFailed: our sandbox, not the agent, is at fault.
            ToolUnavailable: the service or the model behind a host tool is; `ModelRejected` where
                that model turned us down.
        """
        tool = self._tools.get(call.tool)
        if tool is None:
            return self._unknown(call)
        if call.arguments is None:
            return _unreadable(call, tool.spec)
        try:
            return await tool.run(call.arguments, self._sandbox)
        except ModelUnavailable as exc:
            # As it stands it would say that the agent's own model does not answer.
            raise ToolUnavailable(f"{call.tool}: {exc}") from exc

    def _unknown(self, call: ToolCall) -> ToolResult:
        meant = nearest_name(call.tool, self._tools)
        hint = f" Did you mean {meant}? Call it by exactly this name." if meant else ""
        return ToolResult(
            text=f"There is no tool {call.tool[:_MAX_RAW_SHOWN]!r}.{hint} "
            f"Tools: {', '.join(self._tools)}.",
            error=ToolErrorKind.UNKNOWN_TOOL,
        )

    def _placed(self, tool: Tool) -> Tool:
        if isinstance(tool, SandboxedTool):
            return tool.at(self._python)
        return tool.at(self._context) if isinstance(tool, HostTool) else tool


def _unreadable(call: ToolCall, spec: ToolSpec) -> ToolResult:
    """Return why the arguments could not be read, and which the tool takes."""
    schema = spec.parameters
    named = (
        f"{name}: {type_text(part)}{'' if name in schema.get('required', ()) else ' (optional)'}"
        for name, part in schema.get("properties", {}).items()
    )
    given = f" Given: {call.raw[:_MAX_RAW_SHOWN]!r}." if call.raw else ""
    return ToolResult(
        text=f"The arguments of {call.tool} could not be read: {fault_of(call.raw)}. They must be "
        f"one JSON object. {call.tool} takes {', '.join(named) or 'none: {}'}.{given}",
        error=ToolErrorKind.BAD_ARGUMENTS,
    )
