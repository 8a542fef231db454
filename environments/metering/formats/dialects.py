"""The wire formats that the proxy speaks: paths, limit fields, headers and error bodies."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from environments.models.openai.account import account_headers
from environments.models.providers import PROVIDERS
from environments.models.wire.endpoint import Endpoint
from taskdata.errors import Misuse

Family = Literal["openai", "anthropic"]


@dataclass(frozen=True)
class Dialect:
    """One wire format."""

    name: Literal["chat", "responses", "messages"]
    path: str
    """Path at the proxy."""
    behind: str
    """Path at the provider, below its base URL."""
    limits: tuple[str, ...]
    """Fields that limit the reply's tokens; the first is set if a request has none of them."""


CHAT = Dialect(
    "chat",
    "/v1/chat/completions",
    "/chat/completions",
    ("max_tokens", "max_completion_tokens"),
)
# Newer models of OpenAI refuse `max_tokens`; most compatible servers accept nothing else.
_CHAT_OF_OPENAI = Dialect(
    "chat",
    "/v1/chat/completions",
    "/chat/completions",
    ("max_completion_tokens", "max_tokens"),
)
RESPONSES = Dialect("responses", "/v1/responses", "/responses", ("max_output_tokens",))
MESSAGES = Dialect("messages", "/v1/messages", "/v1/messages", ("max_tokens",))


def family_of(endpoint: Endpoint) -> Family:
    """Return which family of formats the endpoint speaks."""
    provider = PROVIDERS.get(endpoint.spec.provider)
    return "anthropic" if provider is not None and provider.speaks_messages else "openai"


def require_forwardable(endpoint: Endpoint) -> None:
    """Check that a program's requests can be forwarded unchanged to the provider.

    Raises:
        Misuse: the provider wants signed requests, or has URLs of another form.
    """
    provider = PROVIDERS.get(endpoint.spec.provider)
    if (provider is not None and provider.sdk in ("bedrock", "vertex")) or "?" in endpoint.base_url:
        raise Misuse(
            f"{endpoint}: a program of its own cannot call this provider; use `react` or "
            "`function_calling`, or a base URL that speaks OpenAI's or Anthropic's format as it is"
        )


def limited_as(endpoint: Endpoint) -> str:
    """Return the name under which all callers of the provider share its rate limits."""
    return f"{endpoint.spec.provider.partition('-')[0]}@{endpoint.host}"


def dialects_of(endpoint: Endpoint) -> tuple[Dialect, ...]:
    """Return the formats that programs may use with the endpoint."""
    if family_of(endpoint) == "anthropic":
        return (MESSAGES,)
    chat = _CHAT_OF_OPENAI if endpoint.spec.provider.startswith("openai") else CHAT
    return (chat, RESPONSES)


def variables(endpoint: Endpoint, root: str, token: str) -> tuple[tuple[str, str], ...]:
    """Return the environment variables that point SDKs to the proxy and its token.

    Args:
        endpoint: The endpoint that the proxy forwards to.
        root: URL of the proxy, without `/v1`.
        token: The key that programs send.
    """
    named = ("NIGHTSHIFT_MODEL", endpoint.spec.model)
    if family_of(endpoint) == "anthropic":
        return (named, ("ANTHROPIC_BASE_URL", root), ("ANTHROPIC_API_KEY", token))
    return (named, ("OPENAI_BASE_URL", f"{root}/v1"), ("OPENAI_API_KEY", token))


def real_headers(endpoint: Endpoint, asked: Mapping[str, str]) -> dict[str, str]:
    """Return the headers of a forwarded request: the real key, and few of the program's headers."""
    headers = {"content-type": "application/json", **revision_headers(endpoint, asked)}
    if family_of(endpoint) == "openai":
        return {**headers, **account_headers(endpoint)}
    return {**headers, "x-api-key": endpoint.key}


def revision_headers(endpoint: Endpoint, asked: Mapping[str, str]) -> dict[str, str]:
    """Return the headers that name the revision of the format."""
    if family_of(endpoint) == "openai":
        return {}
    kept = ("anthropic-version", "anthropic-beta")
    given = {name: asked[name] for name in kept if name in asked}
    return {"anthropic-version": "2023-06-01", **given}


def error_body(family: Family, kind: str, message: str) -> dict[str, Any]:
    """Return an error in the form that the family's SDKs expect."""
    if family == "anthropic":
        return {"type": "error", "error": {"type": kind, "message": message}}
    return {"error": {"message": message, "type": kind, "code": kind, "param": None}}


def model_list(endpoint: Endpoint) -> dict[str, Any]:
    """Return the answer to `GET /models`: the agent's model, in a form valid for both families."""
    return {"object": "list", "data": [model_entry(endpoint)], "has_more": False}


def model_entry(endpoint: Endpoint) -> dict[str, Any]:
    """Return the agent's model as an entry of a list."""
    model = endpoint.spec.model
    return {
        "id": model,
        "object": "model",
        "type": "model",
        "created": 0,
        "created_at": "1970-01-01T00:00:00Z",
        "display_name": model,
        "owned_by": endpoint.spec.provider,
    }
