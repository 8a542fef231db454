"""manage_context: the model sees how full its context is, and drops turns that it chooses.

Toolathlon, appendix B. Dropped turns stay in the record of the trial, where `history` finds them.
"""

from collections.abc import Sequence
from typing import Literal

from pydantic import Field

from environments.toolkit.definition import Arguments
from environments.toolkit.host_tool import HostCall, HostDefinition
from environments.toolkit.turns import AgentContext, TurnSize
from environments.tools.wording import count_of
from taskdata.errors import ToolRefused
from taskdata.schema.task import Capability
from taskdata.schema.tool import ToolResult

MANAGE_CONTEXT = "manage_context"

_MAX_LISTED = 30

Action = Literal["status", "keep_last", "drop_first", "drop_range"]


class ManageContextArguments(Arguments):
    """Arguments of manage_context."""

    action: Action = Field(
        default="status",
        description="status: how full the context is. keep_last: drop all but the last `count` "
        "turns. drop_first: drop the oldest `count` turns. drop_range: drop turns `first` to "
        "`last`.",
    )
    count: int | None = Field(default=None, ge=1, description="Of turns.")
    first: int | None = Field(default=None, ge=1, description="Number of a turn.")
    last: int | None = Field(default=None, ge=1, description="Number of a turn.")


async def manage_context(args: ManageContextArguments, call: HostCall) -> ToolResult:
    """Return the state of the context, and what was dropped from it."""
    context = call.context.agent
    if context is None:
        raise ToolRefused("This agent's context is not kept here: nothing can be dropped.")
    turns = context.turns()
    if args.action == "status":
        return ToolResult(text=_status(context))
    chosen = _chosen(args, turns)
    if not chosen:
        raise ToolRefused("No turn fits: the current one always stays. Ask for the status first.")
    dropped = context.drop(chosen)
    return ToolResult(
        text=f"Dropped {count_of(len(chosen), 'turn')} with {dropped:,} characters. history still "
        f"shows what happened in them.\n{_status(context)}"
    )


def _chosen(args: ManageContextArguments, turns: Sequence[TurnSize]) -> tuple[int, ...]:
    """Return the numbers of the turns to drop; never the current turn, which is the newest."""
    numbers = [turn.number for turn in turns]
    if args.action == "drop_range":
        if args.first is None or args.last is None:
            raise ToolRefused("drop_range needs `first` and `last`, numbers of turns.")
        return tuple(n for n in numbers[:-1] if args.first <= n <= args.last)
    if args.count is None:
        raise ToolRefused(f"{args.action} needs `count`, a number of turns.")
    if args.action == "keep_last":
        return tuple(numbers[: -args.count])
    return tuple(numbers[:-1][: args.count])


def _status(context: AgentContext) -> str:
    turns = context.turns()
    used, window = context.input_tokens(), context.window_tokens
    tokens = "an unknown number of tokens" if used is None else f"{used:,} tokens"
    fits = f" of the {window:,} that fit" if window is not None else ""
    lines = [
        f"In your context: the task and {count_of(len(turns), 'turn')}, about {tokens}{fits}. "
        f"Still allowed: {count_of(context.turns_left(), 'turn')}.",
        *(f"- turn {turn.number}: {turn.chars:,} characters" for turn in turns[-_MAX_LISTED:]),
    ]
    if len(turns) > _MAX_LISTED:
        hidden = turns[:-_MAX_LISTED]
        chars = sum(turn.chars for turn in hidden)
        lines.insert(
            1, f"- turns {hidden[0].number} to {hidden[-1].number}: {chars:,} characters together"
        )
    return "\n".join(lines)


TOOLS = (
    HostDefinition(
        name=MANAGE_CONTEXT,
        description=(
            "See how full your context is, and drop old turns from it: your own steps and their "
            "results. The task stays, and history finds what was dropped."
        ),
        category=Capability.OPERATION,
        arguments=ManageContextArguments,
        run=manage_context,
        backend="the conversation of this trial",
    ),
)
