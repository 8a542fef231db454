"""Errors of calls to a model provider, as types that callers act on.

No message quotes a prompt or a key: the provider's own message is shortened, put on one line and
stripped of the key, and left out altogether if it is about credentials.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from environments.models.azure import not_found_at
from environments.models.limits.headers import retry_after
from environments.models.wire.arguments import clean_text
from taskdata.errors import BudgetExhausted, ModelRejected, ModelUnavailable

_MESSAGE_CHARS = 200
_TRANSIENT = frozenset({408, 409, 425, 429})
_LIMITING = frozenset({429, 503, 529})
_CREDENTIALS = frozenset({401, 403, 407})
_TOO_LONG_CODES = frozenset(
    {"context_length_exceeded", "exceed_context_size_error", "request_too_large"}
)
_CONTENT_CODES = frozenset({"content_filter", "content_policy_violation", "invalid_prompt"})
# Anthropic and most compatible servers report these errors in words only, all different.
_TOO_LONG_WORDS = re.compile(
    r"(?:prompt|input) is too long|context (?:length|window|size|limit)|maximum context|"
    r"(?:input|prompt) token count|(?:too many input|input) tokens(?: exceed|\. max)|"
    r"maximum (?:prompt|model) length|`inputs` (?:tokens \+|must have less than)|"
    r"reduce the length of the messages|exceeded model token limit|range of input length",
    re.IGNORECASE,
)
_TOO_LARGE_WORDS = re.compile(r"request (?:is )?too large", re.IGNORECASE)


class ConversationTooLong(ModelRejected):
    """The conversation does not fit the model's context; a shorter one may."""


class ConversationRefused(ModelRejected):
    """The provider refuses to answer this content."""


class AttemptFailed(ModelUnavailable):
    """An attempt failed in a way that a retry may mend; seen by the retry layer only."""

    retry_after_seconds: float | None = None
    """How long the provider asked us to wait."""
    at_once: bool = False
    """The next attempt sends a different request, so there is no need to wait."""

    @property
    def is_limit(self) -> bool:
        """Whether this is a rate limit, and not a fault of the provider."""
        return self.status in _LIMITING


class NotSent(AttemptFailed):
    """No connection was made, so nothing was sent and nothing is charged."""


class NoAnswerInTime(ModelUnavailable):
    """The first attempt was still running when the request's own timeout ended.

    The caller chose the timeout, so the caller decides whether the model is slow or the server
    hangs.
    """


class TooDear(BudgetExhausted):
    """The call may cost more than the request allows; it was not made."""


class NotRecorded(ModelRejected):
    """Only recorded replies are replayed, and none is recorded for this request."""


@dataclass(frozen=True)
class ProviderError:
    """The error object of a response, as far as it can be parsed."""

    kind: str = ""
    code: str = ""
    param: str = ""
    message: str = ""

    @classmethod
    def read(cls, body: object) -> "ProviderError":
        """Parse a decoded error body: OpenAI's inner object or Anthropic's outer one."""
        inner = body.get("error", body) if isinstance(body, Mapping) else None
        if isinstance(inner, str):
            return cls(message=inner)
        if not isinstance(inner, Mapping):
            return cls()

        def word(key: str) -> str:
            value = inner.get(key)
            return value if isinstance(value, str) else ""

        return cls(word("type"), word("code"), word("param"), word("message"))


def lost_money(usd: float) -> ModelUnavailable:
    """Return the error of a trial whose money was used up by failed attempts of the provider."""
    return ModelUnavailable(
        f"attempts that brought no answer may be charged with {usd:.4f} USD, without which the "
        "trial's max_usd would not be used up"
    )


def from_status(
    where: str, status: int, headers: Mapping[str, str], body: object, key: str
) -> ModelRejected | AttemptFailed:
    """Return the error for an HTTP error status.

    Args:
        where: Model and endpoint, for the message.
        status: 400 or above.
        headers: Headers of the response; `retry-after` is read.
        body: The decoded body, or what the SDK made of it.
        key: The API key, which is removed from quoted text.
    """
    error = ProviderError.read(body)
    words = {error.kind, error.code}
    fault = _fault(where, status, words, error, key)
    fault.status = status
    if isinstance(fault, AttemptFailed):
        fault.retry_after_seconds = retry_after(headers)
    return fault


def _fault(
    where: str, status: int, words: set[str], error: ProviderError, key: str
) -> ModelRejected | AttemptFailed:
    message = f"{where}: HTTP {status}{_detail(status, error, key)}"
    # An empty account answers 429 like a rate limit, but waiting does not help.
    if (status in _TRANSIENT or status >= 500) and "insufficient_quota" not in words:
        return AttemptFailed(message)
    if status in _CREDENTIALS:
        return ModelRejected(f"{message}: the API key is missing, wrong or lacks access")
    if words & _TOO_LONG_CODES or status == 413 or _TOO_LONG_WORDS.search(error.message):
        return ConversationTooLong(message)
    if words & _CONTENT_CODES:
        return ConversationRefused(message)
    advice = not_found_at(where) if status == 404 else None
    return ModelRejected(f"{message}: {advice}" if advice else message)


def says_too_large(body: object) -> bool:
    """Return whether a decoded error body says that the request is too large to ever fit."""
    error = ProviderError.read(body)
    if _TOO_LONG_CODES & {error.kind, error.code}:
        return True
    return any(words.search(error.message) for words in (_TOO_LONG_WORDS, _TOO_LARGE_WORDS))


def from_error(
    where: str, body: Mapping[str, object], headers: Mapping[str, str], key: str
) -> ModelRejected | AttemptFailed:
    """Return the error for an error object in an answer with status 200.

    Gateways that have sent the status before the model behind them fails can only report it there.
    """
    inner = body.get("error")
    code = inner.get("code") if isinstance(inner, Mapping) else None
    if isinstance(code, int) and 400 <= code < 600:
        return from_status(where, code, headers, body, key)
    error = ProviderError.read(body)
    fault = _fault(where, 200, {error.kind, error.code}, error, key)
    if type(fault) is not ModelRejected:
        return fault
    return AttemptFailed(f"{where}: an error as answer{_detail(200, error, key)}")


def one_line(text: str, key: str = "", limit: int = _MESSAGE_CHARS) -> str:
    """Return `text` on one line, without `key`, at most `limit` characters."""
    if key:
        text = text.replace(key, "[key]")
    text = " ".join(clean_text(text).split())
    return text if len(text) <= limit else text[: limit - 1] + "…"


def _detail(status: int, error: ProviderError, key: str) -> str:
    code = one_line(error.code or error.kind, key, 60)
    named = f" {code}" if code else ""
    if status in _CREDENTIALS or not error.message:
        return named
    return f"{named}: {one_line(error.message, key)}"
