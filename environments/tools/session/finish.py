"""The tools that end a trial; they need no sandbox."""

from dataclasses import dataclass
from typing import Any

from pydantic import Field, ValidationError

from environments.ports import Sandbox
from environments.toolkit.definition import Arguments, argument_schema, explain_bad_arguments
from taskdata.schema.task import Capability
from taskdata.schema.tool import ToolErrorKind, ToolResult, ToolSpec

FINISH = "finish"
CLAIM_DONE = "claim_done"
ENDING_TOOLS = (FINISH, CLAIM_DONE)
"""A successful call of one of these ends the trial; its text is the final answer."""


class FinishArguments(Arguments):
    """Arguments of finish."""

    answer: str = Field(description="The final answer to the user, in full.")


class ClaimDoneArguments(Arguments):
    """Arguments of claim_done."""

    answer: str = Field(default="", description="A final answer to the user, if one is due.")


@dataclass(frozen=True)
class EndingTool:
    """Ends the trial with a final answer; implements the `Tool` protocol."""

    spec: ToolSpec
    arguments: type[FinishArguments] | type[ClaimDoneArguments]

    async def run(self, arguments: dict[str, Any], sandbox: Sandbox) -> ToolResult:
        """Return the answer as the observation, or what is wrong with the arguments."""
        try:
            given = self.arguments.model_validate(arguments)
        except ValidationError as exc:
            text = explain_bad_arguments(self.spec.name, self.arguments, arguments, exc)
            return ToolResult(text=text, error=ToolErrorKind.BAD_ARGUMENTS)
        return ToolResult(text=given.answer)


def ending_tools() -> tuple[EndingTool, ...]:
    """Return the tools, in the order of `ENDING_TOOLS`; the second is Toolathlon's (appendix B)."""
    return (
        EndingTool(
            ToolSpec(
                name=FINISH,
                description=(
                    "End the work with your final answer. Call it once, when every file that was "
                    "asked for is in output/. Nothing can be done afterwards."
                ),
                category=Capability.OPERATION,
                parameters=argument_schema(FinishArguments),
            ),
            FinishArguments,
        ),
        EndingTool(
            ToolSpec(
                name=CLAIM_DONE,
                description=(
                    "Say that the task is done. The work ends at once, and nothing can be done "
                    "afterwards."
                ),
                category=Capability.OPERATION,
                parameters=argument_schema(ClaimDoneArguments),
            ),
            ClaimDoneArguments,
        ),
    )
