"""sleep: wait until something outside has progressed (Toolathlon, appendix B)."""

import asyncio

from pydantic import Field

from environments.toolkit.definition import Arguments
from environments.toolkit.host_tool import HostCall, HostDefinition
from taskdata.schema.task import Capability
from taskdata.schema.tool import ToolResult

MAX_SECONDS = 120


class SleepArguments(Arguments):
    """Arguments of sleep."""

    seconds: float = Field(gt=0, le=MAX_SECONDS, description="How long to wait.")


async def sleep(args: SleepArguments, call: HostCall) -> ToolResult:
    """Return after that many seconds, which count towards the time of the trial."""
    await asyncio.sleep(args.seconds)
    return ToolResult(text=f"Waited {args.seconds:g} s.")


TOOLS = (
    HostDefinition(
        name="sleep",
        description="Wait for some seconds, when something outside needs time.",
        category=Capability.OPERATION,
        arguments=SleepArguments,
        run=sleep,
        backend="the clock",
    ),
)
