"""The client objects of OpenAI's SDK: for OpenAI's formats at any URL, and for Azure."""

import httpx2
import openai

from environments.models.azure import azure_deployment
from environments.models.wire.endpoint import Endpoint
from environments.models.wire.http import CONNECT_SECONDS, SafeClient
from environments.models.wire.sdk import SdkClient


class _HttpClient(SafeClient, openai.DefaultAioHttpClient):
    """The SDK's HTTP client over aiohttp, with our settings."""


def new_sdk(endpoint: Endpoint, most_bytes: int | None = None) -> openai.AsyncOpenAI:
    """Return the SDK's client object; its own retries are off, because our retry layer retries.

    `most_bytes` limits an answer; None: the limit for replies of language models.
    """
    timeout = httpx2.Timeout(None, connect=CONNECT_SECONDS)
    http_client = _HttpClient(endpoint, most_bytes)
    azure = azure_deployment(endpoint.base_url, endpoint.spec.model)
    if endpoint.spec.provider == "azure" and azure is not None:
        resource, deployment, version = azure
        sdk: openai.AsyncOpenAI = openai.AsyncAzureOpenAI(
            azure_endpoint=resource,
            azure_deployment=deployment,
            api_version=version,
            api_key=endpoint.key,
            max_retries=0,
            timeout=timeout,
            http_client=http_client,
        )
    else:
        sdk = openai.AsyncOpenAI(
            api_key=endpoint.key,
            base_url=endpoint.base_url,
            max_retries=0,
            timeout=timeout,
            http_client=http_client,
        )
    if not endpoint.spec.provider.startswith("openai"):
        # The SDK reads these from the environment; other providers must not receive them.
        sdk.organization = sdk.project = None
        sdk._custom_headers = {}
    return sdk


def openai_client(endpoint: Endpoint) -> SdkClient:
    """Return the SDK client that sends requests to the endpoint."""
    return SdkClient(endpoint, new_sdk, openai)
