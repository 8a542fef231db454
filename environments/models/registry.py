"""Makes clients of models by provider name, and checks what each provider needs."""

import os
import re
from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, distribution
from types import TracebackType
from typing import TYPE_CHECKING, Self
from urllib.parse import urlsplit

from environments.models.azure import azure_url, unsupported_path
from environments.models.keys import NO_KEY, key_for
from environments.models.limits.protocols import limited_as
from environments.models.local.files import require_model_file
from environments.models.providers import PROVIDERS, ModelProvider
from environments.ports import ModelClient
from taskdata.errors import Misuse
from taskdata.schema.agent import ModelSpec
from taskdata.schema.deadlines import ATTEMPT_SECONDS

if TYPE_CHECKING:
    from environments.models.client import ProviderClient
    from environments.models.limits.protocols import Limiter
    from environments.models.money.run_budget import RunBudget
    from environments.models.wire.endpoint import Endpoint

# These think between tool calls, and only the Responses API returns that thinking to them.
_REASONING = re.compile(r"^(?:o[1-9]|gpt-(?:[5-9]|[1-9]\d)|codex-)", re.ASCII)


def require_model(spec: ModelSpec, base_url: str | None, *, is_asked: bool = True) -> None:
    """Check that a client for this model can be made; makes no call and imports no SDK.

    A model whose recorded replies are replayed (`is_asked` false) needs neither key nor server.

    Raises:
        Misuse: unknown provider or local model, missing key or base URL; says what to do.
    """
    provider = _provider(spec)
    if spec.provider == "local":
        require_model_file(spec.model)
        return
    if not is_asked:
        return
    key = key_for(spec, provider, _base_url(spec, provider, base_url))
    _require_sign_in(spec, provider, key)


def require_limited(names: Iterable[str]) -> None:
    """Check that limits of those names, each `provider` or `provider@host`, apply to some calls.

    Raises:
        Misuse: no provider has such a name, or two names mean the same provider.
    """
    families = {limited_as(provider) for provider in PROVIDERS if provider != "local"}
    first: dict[str, str] = {}
    for name in names:
        shared = limited_as(name)
        if shared.partition("@")[0] not in families:
            known = ", ".join(sorted(families))
            raise Misuse(
                f"limits.{name}: calls of no provider go under this name; there are {known}, each "
                "also with @host"
            )
        if first.setdefault(shared, name) != name:
            raise Misuse(f"limits.{name}: the same as limits.{first[shared]}; keep one of them")


def model_client(
    spec: ModelSpec,
    base_url: str | None,
    limiter: "Limiter | None" = None,
    run_budget: "RunBudget | None" = None,
    attempt_seconds: float = ATTEMPT_SECONDS,
) -> ModelClient:
    """Return a new client; it belongs to the event loop it is first used in.

    Args:
        spec: Provider and model.
        base_url: Endpoint; for local models that of the running server, else None for the default.
        limiter: Shares the provider's limits; None: the limiter of this process.
        run_budget: Reserves money for each call; None: the run has no cap.
        attempt_seconds: Longest attempt at a call.

    Raises:
        Misuse: see `require_model`; also a local model without a running server, or an unknown
            price together with a `run_budget`.
    """
    from environments.models.limits.limiter import process_limiter
    from environments.models.retry import RetryPolicy

    endpoint = model_endpoint(spec, base_url)
    policy = RetryPolicy(attempt_seconds=attempt_seconds)
    if spec.provider == "local":
        # A local server has its own queue and costs nothing, so neither limiter nor budget is used.
        return _client_type(spec, endpoint.base_url)(endpoint, policy)
    client = _client_type(spec, endpoint.base_url)
    return client(endpoint, policy, limiter or process_limiter(), run_budget)


def takes_audio(spec: ModelSpec, base_url: str | None) -> bool:
    """Return whether requests to this model can carry recordings; needs no key.

    Raises:
        Misuse: unknown provider, or an invalid base URL.
    """
    provider = _provider(spec)
    # The endpoint matters only for providers that have one of their own.
    url = _base_url(spec, provider, base_url) if provider.base_url else ""
    return _client_type(spec, url).takes_audio


def model_endpoint(spec: ModelSpec, base_url: str | None) -> "Endpoint":
    """Return the endpoint of the model, with its key.

    Raises:
        Misuse: see `require_model`; also a local model without a running server.
    """
    from environments.models.wire.endpoint import Endpoint

    require_model(spec, base_url)
    provider = _provider(spec)
    if spec.provider == "local" and base_url is None:
        raise Misuse(f"model {spec}: its server is not running; start the run with `nightshift`")
    url = _base_url(spec, provider, base_url)
    return Endpoint(spec, url, key_for(spec, provider, url))


def redirected_to(spec: ModelSpec) -> str | None:
    """Return the base URL that the environment puts in place of the provider's own, or None."""
    provider = PROVIDERS.get(spec.provider, ModelProvider())
    variable = provider.base_url_variable
    named = (os.environ.get(variable) if variable else None) or ""
    named = named.rstrip("/")
    return None if named in ("", provider.own_url()) else named


def _client_type(spec: ModelSpec, base_url: str) -> "type[ProviderClient]":
    if _provider(spec).speaks_messages:
        from environments.models.anthropic.messages import AnthropicClient

        return AnthropicClient
    from environments.models.openai.chat import OpenAIClient
    from environments.models.openai.responses import OpenAIResponsesClient

    return OpenAIResponsesClient if _asks_for_responses(spec, base_url) else OpenAIClient


def _asks_for_responses(spec: ModelSpec, base_url: str) -> bool:
    if spec.provider != "openai":
        return spec.provider == "openai-responses"
    host = urlsplit(base_url).hostname or ""
    # Other servers under OpenAI's name are only certain to support chat completions.
    is_openai = host == "api.openai.com" or host.endswith(".api.openai.com")
    return is_openai and _REASONING.match(spec.model) is not None


class ModelClients:
    """The clients of one event loop: one per model and endpoint, closed together."""

    def __init__(
        self,
        limiter: "Limiter | None" = None,
        run_budget: "RunBudget | None" = None,
        attempt_seconds: float = ATTEMPT_SECONDS,
    ) -> None:
        """Make clients that keep to limits.

        Args:
            limiter: Shares the providers' limits; None: the limiter of this process.
            run_budget: Reserves money for each call; None: the run has no cap.
            attempt_seconds: Longest attempt at a call.
        """
        self._limiter = limiter
        self._run_budget = run_budget
        self._attempt_seconds = attempt_seconds
        self._clients: dict[tuple[ModelSpec, str | None], ModelClient] = {}

    @property
    def limiter(self) -> "Limiter":
        """The limiter, for other code that calls the providers."""
        from environments.models.limits.limiter import process_limiter

        return self._limiter or process_limiter()

    @property
    def run_budget(self) -> "RunBudget | None":
        """The run's budget, for other code that calls the providers; None: no cap."""
        return self._run_budget

    @property
    def attempt_seconds(self) -> float:
        """The longest attempt at a call, for other code that calls the providers."""
        return self._attempt_seconds

    def get(self, spec: ModelSpec, base_url: str | None) -> ModelClient:
        """Return the client for this model and endpoint, always the same one.

        Raises:
            Misuse: see `require_model`; also an unknown price together with a `run_budget`.
        """
        key = (spec, base_url)
        if key not in self._clients:
            self._clients[key] = model_client(
                spec, base_url, self._limiter, self._run_budget, self._attempt_seconds
            )
        return self._clients[key]

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        for client in self._clients.values():
            await client.close()


def _provider(spec: ModelSpec) -> ModelProvider:
    try:
        return PROVIDERS[spec.provider]
    except KeyError:
        known = ", ".join(PROVIDERS)
        raise Misuse(f"model {spec}: unknown provider; there are {known}") from None


def _require_sign_in(spec: ModelSpec, provider: ModelProvider, key: str) -> None:
    """Check what calls need beside a key: settings, and the machine's credentials if no key."""
    if missing := [name for name in provider.needs_variables if not os.environ.get(name)]:
        raise Misuse(f"model {spec}: set the environment variable {missing[0]}")
    if key != NO_KEY or provider.signs_in_with is None:
        return
    try:
        distribution(provider.signs_in_with)
    except PackageNotFoundError:
        raise Misuse(
            f"model {spec}: install the extra {spec.provider!r}, or set {provider.key_variable}"
        ) from None


def _base_url(spec: ModelSpec, provider: ModelProvider, base_url: str | None) -> str:
    variable = provider.base_url_variable
    own_url = provider.own_url()
    # Requests are signed for a region even if the base URL does not name it.
    if own_url is None and provider.region_variables:
        known = " or ".join(provider.region_variables)
        raise Misuse(f"model {spec}: name the region in the environment variable {known}")
    named = base_url or (os.environ.get(variable) if variable else None) or own_url
    if named is None:
        raise Misuse(
            f"model {spec}: needs a base URL, such as http://localhost:8000/v1: --base-url, or "
            "`base_url` of its agent in nightshift.toml; a judge's is `judge_base_url` there, that "
            "of tools `tool_model_base_url`"
        )
    try:
        url = urlsplit(named)
    except ValueError:
        url = urlsplit("")
    if url.scheme not in ("http", "https") or not url.hostname:
        raise Misuse(f"model {spec}: the base URL must start with http:// or https://")
    if provider.sdk == "azure":
        named = azure_url(named)
    elif (reason := unsupported_path(named)) is not None:
        raise Misuse(f"model {spec}: {reason}")
    if base_url and (url.username or url.password):
        raise Misuse(
            f"model {spec}: the base URL holds a login, which would be stored with the run; give "
            "the key in the environment or the keyring"
        )
    return named
