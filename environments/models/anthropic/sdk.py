"""The client objects of Anthropic's SDK: for Anthropic itself, Amazon Bedrock and Google Vertex."""

import os
from typing import Any

import anthropic
import httpx2

from environments.models.keys import NO_KEY
from environments.models.providers import PROVIDERS
from environments.models.wire.endpoint import Endpoint
from environments.models.wire.http import CONNECT_SECONDS, SafeClient
from environments.models.wire.sdk import SdkClient

_OWN_HOST = "api.anthropic.com"


class _HttpClient(SafeClient, anthropic.DefaultAioHttpClient):
    """The SDK's HTTP client over aiohttp, with our settings."""


def anthropic_client(endpoint: Endpoint) -> SdkClient:
    """Return the SDK client that sends requests to the endpoint."""
    provider = PROVIDERS.get(endpoint.spec.provider)
    kind = "anthropic" if provider is None else provider.sdk
    if kind == "bedrock":
        return SdkClient(endpoint, _bedrock, anthropic, **_cloud(endpoint, _aws_errors))
    if kind == "vertex":
        return SdkClient(endpoint, _vertex, anthropic, **_cloud(endpoint, _google_errors))
    return SdkClient(endpoint, _direct, anthropic)


def _direct(endpoint: Endpoint) -> anthropic.AsyncAnthropic:
    # Gateways that imitate the provider accept the key only in the older header.
    older = {} if endpoint.host == _OWN_HOST else {"x-api-key": endpoint.key}
    return anthropic.AsyncAnthropic(
        api_key=endpoint.key, default_headers=older, **_settings(endpoint)
    )


def _bedrock(endpoint: Endpoint) -> anthropic.AsyncAnthropicBedrock:
    key = None if endpoint.key == NO_KEY else endpoint.key
    return anthropic.AsyncAnthropicBedrock(api_key=key, **_settings(endpoint))


def _vertex(endpoint: Endpoint) -> anthropic.AsyncAnthropicVertex:
    return anthropic.AsyncAnthropicVertex(
        region=os.environ["CLOUD_ML_REGION"],
        access_token=None if endpoint.key == NO_KEY else endpoint.key,
        **_settings(endpoint),
    )


def _settings(endpoint: Endpoint) -> dict[str, Any]:
    return {
        "base_url": endpoint.base_url,
        # Only our own retry layer retries.
        "max_retries": 0,
        "timeout": httpx2.Timeout(None, connect=CONNECT_SECONDS),
        "http_client": _HttpClient(endpoint),
        # The SDK's traces could contain conversations.
        "open_telemetry": False,
    }


def _cloud(endpoint: Endpoint, sign_in_errors: Any) -> dict[str, Any]:
    """Return the settings for a cloud's SDK client: decoded bodies, and errors when signing in."""
    signs_in = endpoint.key == NO_KEY
    return {"takes_objects": True, "sign_in_errors": sign_in_errors() if signs_in else ()}


def _aws_errors() -> tuple[type[Exception], ...]:
    from botocore.exceptions import BotoCoreError

    # The SDK raises a RuntimeError when there are no credentials.
    return (BotoCoreError, RuntimeError)


def _google_errors() -> tuple[type[Exception], ...]:
    from google.auth.exceptions import GoogleAuthError

    return (GoogleAuthError,)
