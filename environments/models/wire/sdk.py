"""Calls through the client object of a provider's SDK, and our errors for the SDK's errors."""

import json
from collections.abc import Callable
from types import ModuleType
from typing import Any

import httpx2

from environments.models.faults import AttemptFailed, NotSent, from_status, one_line
from environments.models.wire.endpoint import Endpoint
from environments.models.wire.http import connection_fault
from environments.models.wire.reading import read_json
from taskdata.errors import ModelRejected


class SdkClient:
    """Sends request bodies through an SDK and returns the answers unchanged."""

    def __init__(
        self,
        endpoint: Endpoint,
        new_sdk: Callable[[Endpoint], Any],
        module: ModuleType,
        *,
        takes_objects: bool = False,
        sign_in_errors: tuple[type[Exception], ...] = (),
    ) -> None:
        """Call an endpoint; the SDK's object belongs to one event loop until it is closed.

        Args:
            endpoint: Where the requests go.
            new_sdk: Makes the SDK's object; called again after a close.
            module: The module with the SDK's error classes.
            takes_objects: Whether the SDK needs decoded bodies, because it moves fields to the URL.
            sign_in_errors: Errors of the SDK when the machine's own credentials are missing or
                wrong.
        """
        self._endpoint = endpoint
        self._new_sdk = new_sdk
        # Made before the first request, so that its import does not count towards a timeout.
        self._sdk: Any = new_sdk(endpoint)
        self._error: type[Exception] = module.APIError
        self._takes_objects = takes_objects
        self._sign_in_errors = sign_in_errors

    async def post(self, path: str, body: bytes) -> httpx2.Response:
        """Return the answer to a JSON request, whatever its status; the caller sets the timeout.

        Args:
            path: Path below the base URL, such as `/messages`.
            body: JSON.

        Raises:
            NotSent: no connection was made.
            AttemptFailed: no complete answer came, though the request may have arrived.
            ModelRejected: the answer is too large or a redirect, or there are no credentials.
        """
        if self._sdk is None:
            self._sdk = self._new_sdk(self._endpoint)
        try:
            response: httpx2.Response = await self._sdk.post(
                path,
                **({"body": json.loads(body)} if self._takes_objects else {"content": body}),
                cast_to=httpx2.Response,
                options={"headers": {"Content-Type": "application/json"}},
            )
        except self._error as exc:
            answered = getattr(exc, "response", None)
            if not isinstance(answered, httpx2.Response) or answered.status_code < 400:
                # `from None`: an exception of the SDK quotes the request.
                raise fault_of(self._endpoint, exc) from None
            response = answered
        except self._sign_in_errors as exc:
            raise _sign_in_fault(self._endpoint, exc) from None
        return response

    async def close(self) -> None:
        """Close the connections."""
        sdk, self._sdk = self._sdk, None
        if sdk is not None:
            await sdk.close()


def _sign_in_fault(endpoint: Endpoint, error: Exception) -> NotSent | ModelRejected:
    cause = one_line(str(error) or type(error).__name__)
    kind = NotSent if getattr(error, "retryable", False) else ModelRejected
    return kind(f"{endpoint}: signing in with the credentials of this machine failed: {cause}")


def fault_of(endpoint: Endpoint, error: Exception) -> AttemptFailed | ModelRejected:
    """Return our error for an error of an SDK.

    `APIConnectionError` and `APITimeoutError` become `NotSent` if no connection was made,
    `ModelRejected` if the answer is too large, else `AttemptFailed`. `APIStatusError` becomes
    `ModelRejected` below 400; from 400 on, `faults.from_status` decides by status and body.
    """
    response = getattr(error, "response", None)
    if not isinstance(response, httpx2.Response):
        return connection_fault(endpoint, error)
    status = response.status_code
    if status >= 400:
        body = read_json(response.content)
        return from_status(str(endpoint), status, response.headers, body, endpoint.key)
    rejected = ModelRejected(
        f"{endpoint}: HTTP {status}: the server sends us elsewhere; correct the base URL"
    )
    rejected.status = status
    return rejected
