"""The providers of models, and what there is to know of each before its client is loaded."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Provider:
    """What there is to know about a provider before its client is loaded."""

    key_variable: str | None = None
    key_required: bool = True
    base_url: str | None = None
    """Used when neither the agent nor the environment names another."""
    base_url_variable: str | None = None


_OPENAI = Provider(
    "OPENAI_API_KEY",
    base_url="https://api.openai.com/v1",
    base_url_variable="OPENAI_BASE_URL",
)

PROVIDERS: Mapping[str, Provider] = {
    "openai": _OPENAI,
    "anthropic": Provider(
        "ANTHROPIC_API_KEY",
        base_url="https://api.anthropic.com",
        base_url_variable="ANTHROPIC_BASE_URL",
    ),
    "compatible": Provider(
        "COMPATIBLE_API_KEY", key_required=False, base_url_variable="COMPATIBLE_BASE_URL"
    ),
    "local": Provider(),
    "openai-chat": _OPENAI,
    "openai-responses": _OPENAI,
}
"""`openai` asks in the format that suits the model; the last two settle which it is."""
