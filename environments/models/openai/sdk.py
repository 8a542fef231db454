"""The client object of OpenAI's SDK for an endpoint."""

import httpx2
import openai

from environments.models.wire.endpoint import Endpoint
from environments.models.wire.http import CONNECT_SECONDS, SafeClient
from environments.models.wire.sdk import SdkClient


class _HttpClient(SafeClient, openai.DefaultAioHttpClient):
    """The SDK's HTTP client over aiohttp, with our settings."""


def new_sdk(endpoint: Endpoint) -> openai.AsyncOpenAI:
    """Return the SDK's client object; retries are the business of our retry layer alone."""
    sdk = openai.AsyncOpenAI(
        api_key=endpoint.key,
        base_url=endpoint.base_url,
        max_retries=0,
        timeout=httpx2.Timeout(None, connect=CONNECT_SECONDS),
        http_client=_HttpClient(endpoint),
    )
    if not endpoint.spec.provider.startswith("openai"):
        # The SDK reads these from the environment; they are no third party's business.
        sdk.organization = sdk.project = None
        sdk._custom_headers = {}
    return sdk


def openai_client(endpoint: Endpoint) -> SdkClient:
    """Return what sends requests to the endpoint."""
    return SdkClient(endpoint, new_sdk, openai)
