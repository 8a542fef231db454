"""The client object of Anthropic's SDK for an endpoint."""

import anthropic
import httpx2

from environments.models.wire.endpoint import Endpoint
from environments.models.wire.http import CONNECT_SECONDS, SafeClient
from environments.models.wire.sdk import SdkClient

_OWN_HOST = "api.anthropic.com"


class _HttpClient(SafeClient, anthropic.DefaultAioHttpClient):
    """The SDK's HTTP client over aiohttp, with our settings."""


def new_sdk(endpoint: Endpoint) -> anthropic.AsyncAnthropic:
    """Return the SDK's client object; retries are the business of our retry layer alone."""
    # Gateways that imitate the provider know the key under the older header alone.
    older = {} if endpoint.host == _OWN_HOST else {"x-api-key": endpoint.key}
    return anthropic.AsyncAnthropic(
        api_key=endpoint.key,
        base_url=endpoint.base_url,
        max_retries=0,
        timeout=httpx2.Timeout(None, connect=CONNECT_SECONDS),
        default_headers=older,
        http_client=_HttpClient(endpoint),
        open_telemetry=False,
    )


def anthropic_client(endpoint: Endpoint) -> SdkClient:
    """Return what sends requests to the endpoint."""
    return SdkClient(endpoint, new_sdk, anthropic)
