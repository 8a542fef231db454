"""What an adapter needs before a run starts."""

from importlib.util import find_spec

from taskdata.errors import Misuse
from taskdata.installing import extra_command
from taskdata.schema.agent import AgentSpec

_PACKAGES = {"openai_agents": "agents", "pydantic_ai": "pydantic_ai"}
"""The module that each harness imports; the extra `adapters` installs all of them."""


def require_adapter(agent: AgentSpec) -> None:
    """Raise `Misuse` unless the agent's SDK is installed and speaks its model's format."""
    if find_spec(_PACKAGES[agent.harness]) is None:
        raise Misuse(
            f"agent {agent.name!r}: its SDK is not installed; run {extra_command('adapters')}"
        )
    if agent.model is not None and agent.model.provider.startswith("anthropic"):
        raise Misuse(
            f"agent {agent.name!r}: this adapter speaks OpenAI's formats only; name a model of "
            "provider openai, compatible or local"
        )
