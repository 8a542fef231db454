"""How long a trial may take beside its agent's own work."""

from pydantic import Field

from taskdata.schema.base import Value


class Deadlines(Value):
    """Of the parts of a trial; one that takes longer has failed for a reason outside the agent."""

    setup_seconds: float = Field(default=600.0, gt=0)
    """Workspace, services, preprocess program, sandbox and MCP servers, until the agent begins."""
    line_seconds: float = Field(default=3600.0, ge=0)
    """In line for the limits of the model's provider, all calls of the trial together."""
    collect_seconds: float = Field(default=600.0, gt=0)
    """From the end of the agent's work until all is stored and nothing of the trial is left."""
