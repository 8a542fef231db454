"""How long a trial may take beside its agent's own work."""

from pydantic import Field

from taskdata.schema.base import Value

ATTEMPT_SECONDS = 600.0
"""Of one attempt at a model call, as OpenAI's and Anthropic's own SDKs have it."""

NIGHT_DEADLINE = "the night's deadline (night_seconds)"
"""Stands in the recorded cause of every trial that was not done because it had passed."""


class Deadlines(Value):
    """Of the parts of a trial; one that takes longer has failed for a reason outside the agent."""

    setup_seconds: float = Field(default=600.0, gt=0, allow_inf_nan=False)
    """Workspace, services, preprocess program, sandbox and MCP servers, until the agent begins."""
    line_seconds: float = Field(default=3600.0, ge=0, allow_inf_nan=False)
    """In line for the limits of the model's provider, all calls of the trial together."""
    attempt_seconds: float = Field(default=ATTEMPT_SECONDS, gt=0, le=3600, allow_inf_nan=False)
    """A provider that has not answered an attempt at a model call for so long is given up: longer
    than the slowest model thinks that does not stream its answers."""
    collect_seconds: float = Field(default=600.0, gt=0, allow_inf_nan=False)
    """From the end of the agent's work until all is stored and nothing of the trial is left."""
