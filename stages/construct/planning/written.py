"""What a model, or the author of a bank, writes for planning cases: one form for each question.

Code turns each form into a case, and refuses what it can tell to be wrong.
"""

from typing import Annotated, Any, Literal

from pydantic import Field

from stages.construct.answers.forms import Form, Sentence
from taskdata.schema.planning import CaseTool, Infeasibility, ToolRole

ToolName = Annotated[str, Field(pattern=r"^[A-Za-z][A-Za-z0-9_]{2,59}$")]
MAX_COST = 5
"""Most that one call of an own tool costs (APB, appendix B.5)."""


class ParameterForm(Form):
    """One parameter of an invented tool."""

    name: Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,39}$")]
    type: Literal["string", "integer", "number", "boolean"]
    meaning: Annotated[str, Field(min_length=1, max_length=300)]


class ToolForm(Form):
    """An invented tool; every parameter is required."""

    name: ToolName
    description: Annotated[str, Field(min_length=20, max_length=600)]
    parameters: Annotated[tuple[ParameterForm, ...], Field(min_length=1, max_length=8)]

    def as_tool(self, role: ToolRole, replaces: tuple[str, ...] = ()) -> CaseTool:
        """Return the tool as a case offers it."""
        return CaseTool(
            name=self.name,
            description=self.description,
            parameters=object_schema(
                {p.name: {"type": p.type, "description": p.meaning} for p in self.parameters}
            ),
            role=role,
            replaces=replaces,
        )


class PlanForm(Form):
    """The plan behind a trajectory: a sentence for each of its steps, with the reason for it."""

    steps: Annotated[tuple[Sentence, ...], Field(min_length=1, max_length=100)]


class DistractorsForm(Form):
    """Tools of the same scene that are of no use for the query (APB, appendix B.4.1)."""

    tools: Annotated[tuple[ToolForm, ...], Field(min_length=10, max_length=10)]


class SubstituteForm(Form):
    """A tool that does what a broken one did, and the error of the broken one (B.4.2)."""

    step: Annotated[int, Field(ge=1)]
    """The step of the trajectory whose tool breaks."""
    error: Sentence
    tool: ToolForm


class InfeasibleForm(Form):
    """What makes a query unsolvable (APB, appendix B.4.3)."""

    kind: Infeasibility
    query: Annotated[str, Field(max_length=20_000)]
    """The sentences that are added to the query; empty where it stays as it is."""
    removed: Annotated[tuple[str, ...], Field(max_length=30)]
    """Tools that are taken away; of the kind `tool_removal`, and only of it."""
    refusal: Sentence
    """What a right answer tells the user."""
    proof: Sentence
    """Why nothing that the planner has can solve it."""


class CompositeForm(Form):
    """A tool that does two or three consecutive steps for less than they cost together."""

    name: ToolName
    description: Annotated[str, Field(min_length=20, max_length=600)]
    first_step: Annotated[int, Field(ge=1)]
    last_step: Annotated[int, Field(ge=2)]
    cost: Annotated[int, Field(ge=1, le=100)]


class TrapForm(Form):
    """A tool that looks right and does not pay: overpriced, redundant or off the target."""

    tool: ToolForm
    cost: Annotated[int, Field(ge=1, le=100)]
    replaces: Annotated[tuple[str, ...], Field(max_length=3)]
    """The own tools whose calls it stands for, in order; empty if it stands for none."""


class PriceForm(Form):
    """What one call of an own tool costs."""

    tool: str
    cost: Annotated[int, Field(ge=1, le=MAX_COST)]


class EfficiencyForm(Form):
    """Costs, composites and traps (APB, appendix B.5)."""

    prices: Annotated[tuple[PriceForm, ...], Field(min_length=1, max_length=60)]
    composites: Annotated[tuple[CompositeForm, ...], Field(min_length=3, max_length=6)]
    traps: Annotated[tuple[TrapForm, ...], Field(min_length=2, max_length=4)]


class OpinionForm(Form):
    """Whether a case is reasonable (APB, appendix B.2)."""

    reasonable: bool
    reason: Annotated[str, Field(max_length=1_000)]
    """Why the case is not reasonable; empty if it is."""


def object_schema(properties: dict[str, Any]) -> dict[str, Any]:
    """Return the JSON schema of an object in which each of the properties is required."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }
