"""Clients of OpenAI's formats: chat completions, responses, and the models that make files."""

from environments.models.openai.chat import OpenAIClient
from environments.models.openai.responses import OpenAIResponsesClient

__all__ = ["OpenAIClient", "OpenAIResponsesClient"]
