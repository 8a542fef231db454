"""Client of Anthropic's messages format."""

from environments.models.anthropic.messages import AnthropicClient

__all__ = ["AnthropicClient"]
