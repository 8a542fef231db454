"""The providers of models, and what there is to know of each before its client is loaded."""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

_REGION = re.compile(r"[a-z0-9-]+", re.ASCII)


@dataclass(frozen=True)
class ModelProvider:
    """How the models of one provider are reached; one row of the table below."""

    key_variable: str | None = None
    """Environment variable, and name in the keyring, of the key."""
    key_required: bool = True
    base_url: str | None = None
    """Used when neither the agent nor the environment names another; `{region}` stands in it for
    what `region_variables` say."""
    base_url_variable: str | None = None
    sdk: Literal["openai", "azure", "anthropic", "bedrock", "vertex"] = "openai"
    """Whose client object makes the calls: the first two speak the formats of OpenAI, the others
    that of Anthropic."""
    signs_in_with: str | None = None
    """The package that finds the machine's own credentials where there is no key; it comes with the
    extra that is named like the provider."""
    region_variables: tuple[str, ...] = ()
    region_urls: Mapping[str, str] = field(default_factory=dict)
    """Base URLs of the regions whose names do not stand in theirs."""
    needs_variables: tuple[str, ...] = ()
    """Other environment variables that its SDK reads and cannot do without."""

    @property
    def speaks_messages(self) -> bool:
        """Whether its models are asked in Anthropic's format."""
        return self.sdk in ("anthropic", "bedrock", "vertex")

    def own_url(self) -> str | None:
        """Return its base URL; None where it has none, or the environment names no region."""
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
"""`openai` asks in the format that suits the model; `openai-chat` and `openai-responses` settle
which it is."""
