"""The providers of models, and what must be known of each before its client is loaded."""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

_REGION = re.compile(r"[a-z0-9-]+", re.ASCII)


@dataclass(frozen=True)
class ModelProvider:
    """How the models of one provider are reached; a row of the table below."""

    key_variable: str | None = None
    """Environment variable of the key, and its name in the keyring."""
    key_required: bool = True
    base_url: str | None = None
    """Used if neither the agent nor the environment names another; `{region}` is replaced by the
    value of one of `region_variables`."""
    base_url_variable: str | None = None
    sdk: Literal["openai", "azure", "anthropic", "bedrock", "vertex"] = "openai"
    """The SDK client that makes the calls: the first two speak OpenAI's formats, the others
    Anthropic's."""
    signs_in_with: str | None = None
    """The package that finds the machine's own credentials if there is no key; the extra named
    after the provider installs it."""
    region_variables: tuple[str, ...] = ()
    region_urls: Mapping[str, str] = field(default_factory=dict)
    """Base URLs of regions that do not follow the pattern of `base_url`."""
    needs_variables: tuple[str, ...] = ()
    """Other environment variables that its SDK requires."""

    @property
    def speaks_messages(self) -> bool:
        """Whether its models speak Anthropic's format."""
        return self.sdk in ("anthropic", "bedrock", "vertex")

    def own_url(self) -> str | None:
        """Return its base URL; None if it has none, or if the environment names no region."""
        if not self.region_variables or self.base_url is None:
            return self.base_url
        named = (os.environ.get(variable, "") for variable in self.region_variables)
        region = next((name for name in named if _REGION.fullmatch(name)), None)
        if region is None:
            return None
        return self.region_urls.get(region) or self.base_url.format(region=region)


_OPENAI = ModelProvider(
    "OPENAI_API_KEY",
    base_url="https://api.openai.com/v1",
    base_url_variable="OPENAI_BASE_URL",
)

PROVIDERS: Mapping[str, ModelProvider] = {
    "openai": _OPENAI,
    "anthropic": ModelProvider(
        "ANTHROPIC_API_KEY",
        base_url="https://api.anthropic.com",
        base_url_variable="ANTHROPIC_BASE_URL",
        sdk="anthropic",
    ),
    "compatible": ModelProvider(
        "COMPATIBLE_API_KEY", key_required=False, base_url_variable="COMPATIBLE_BASE_URL"
    ),
    "local": ModelProvider(),
    "openai-chat": _OPENAI,
    "openai-responses": _OPENAI,
    "azure": ModelProvider(
        "AZURE_OPENAI_API_KEY", base_url_variable="AZURE_OPENAI_ENDPOINT", sdk="azure"
    ),
    "bedrock": ModelProvider(
        "AWS_BEARER_TOKEN_BEDROCK",
        key_required=False,
        base_url="https://bedrock-runtime.{region}.amazonaws.com",
        base_url_variable="ANTHROPIC_BEDROCK_BASE_URL",
        sdk="bedrock",
        signs_in_with="boto3",
        region_variables=("AWS_REGION", "AWS_DEFAULT_REGION"),
    ),
    "vertex": ModelProvider(
        "VERTEX_ACCESS_TOKEN",
        key_required=False,
        base_url="https://{region}-aiplatform.googleapis.com/v1",
        base_url_variable="ANTHROPIC_VERTEX_BASE_URL",
        sdk="vertex",
        signs_in_with="google-auth",
        region_variables=("CLOUD_ML_REGION",),
        region_urls={
            "global": "https://aiplatform.googleapis.com/v1",
            "us": "https://aiplatform.us.rep.googleapis.com/v1",
            "eu": "https://aiplatform.eu.rep.googleapis.com/v1",
        },
        needs_variables=("ANTHROPIC_VERTEX_PROJECT_ID",),
    ),
    "openrouter": ModelProvider(
        "OPENROUTER_API_KEY",
        base_url="https://openrouter.ai/api/v1",
        base_url_variable="OPENROUTER_BASE_URL",
    ),
    "gemini": ModelProvider(
        "GEMINI_API_KEY",
        base_url="https://generativelanguage.googleapis.com/v1beta/openai",
        base_url_variable="GEMINI_BASE_URL",
    ),
}
"""`openai` uses the format that suits the model; `openai-chat` and `openai-responses` choose one of
the two formats."""
