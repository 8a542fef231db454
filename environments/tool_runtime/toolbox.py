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
"""Names with a fixed meaning in every trial; the last three are offered when needed."""

_MAX_RAW_SHOWN = 200


class Toolbox:
    """The tools of one trial; answers every call, and never raises for mistakes of the agent."""

    def __init__(
        self,
        names: Sequence[str],
        sandbox: Sandbox,
        context: HostToolContext | None = None,
        more: Sequence[Tool] = (),
    ) -> None:
        """Pick tools from the catalogue for one trial.

        Args:
            names: Names of the tools that the task allows.
            sandbox: The trial's sandbox.
            context: What the trial's host tools share; without it, their services are not
                configured.
            more: Tools that are not in the catalogue: those of the trial's MCP servers.

        Raises:
            BadTaskData: the catalogue has no tool of that name.
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
        """The tools in the form that a harness shows, in the task's order; may grow in a trial."""
        return self._specs

    def attach(self, context: AgentContext) -> None:
        """Connect the tools that manage the agent's context to this context."""
        self._context.agent = context

    def pay_from(self, money: TrialMoney) -> None:
        """Charge model calls of tools to this budget, and limit them to what is left of it."""
        self._context.money = money

    def offer(self, *names: str) -> None:
        """Offer further tools of the catalogue from now on, in addition to the task's."""
        for name in names:
            if name not in self._tools:
                self._tools[name] = self._placed(catalogue()[name])
                self._specs = (*self._specs, self._tools[name].spec)

    def show(self, chars: int) -> None:
        """Limit what is shown of each result from now on; the rest can be read in pages."""
        self._context.kept.show(chars)

    def shown(self, result: ToolResult) -> ToolResult:
        """Return a result cut to what the agent is shown; the agent may page through the rest."""
        cut = cut_overlong(result, self._context.kept)
        if cut is not result:
            self.offer(OVERLONG)
        return cut

    async def call(self, call: ToolCall) -> ToolResult:
        """Return the whole result of `call`, or an error result that says how to call correctly.

        Raises:
            SandboxFailed: the sandbox failed, not the agent.
            ToolUnavailable: the service or the model behind a host tool failed.
            ModelRejected: that model refused the request.
        """
        tool = self._tools.get(call.tool)
        if tool is None:
            return self._unknown(call)
        if call.arguments is None:
            return _unreadable(call, tool.spec)
        try:
            return await tool.run(call.arguments, self._sandbox)
        except ModelUnavailable as exc:
            # Unchanged, the error would say that the agent's own model does not answer.
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
    """Return why the arguments could not be parsed, and which arguments the tool takes."""
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
