"""The tool that ends a trial; it needs no sandbox."""

from dataclasses import dataclass
from typing import Any

from pydantic import Field, ValidationError

from environments.ports import Sandbox
from environments.tools.toolkit import Arguments, argument_schema, explain_bad_arguments
from taskdata.schema.task import Capability
from taskdata.schema.tool import ToolErrorKind, ToolResult, ToolSpec

FINISH = "finish"


class FinishArguments(Arguments):
    """Arguments of finish."""

    answer: str = Field(description="The final answer to the user, in full.")


_SPEC = ToolSpec(
    name=FINISH,
    description=(
        "End the work with your final answer. Call it once, when every file that was asked for "
        "is in output/. Nothing can be done afterwards."
    ),
    category=Capability.OPERATION,
    parameters=argument_schema(FinishArguments),
)


@dataclass(frozen=True)
class FinishTool:
    """Ends the trial with a final answer; implements the `Tool` protocol."""

    spec: ToolSpec = _SPEC

    async def run(self, arguments: dict[str, Any], sandbox: Sandbox) -> ToolResult:
        """Return the answer as the observation, or what is wrong with the arguments."""
        try:
            finish = FinishArguments.model_validate(arguments)
        except ValidationError as exc:
            text = explain_bad_arguments(FINISH, FinishArguments, arguments, exc)
            return ToolResult(text=text, error=ToolErrorKind.BAD_ARGUMENTS)
        return ToolResult(text=finish.answer)
