"""What goes wrong between us and a model provider, as types the callers act on.

Nothing here quotes a prompt or a key: a provider's own message is cut short, put on one line and
cleared of the key, and it is left out altogether where it is about credentials.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from taskdata.errors import ModelRejected, ModelUnavailable

_MESSAGE_CHARS = 200
_TRANSIENT = frozenset({408, 409, 425, 429})
_CREDENTIALS = frozenset({401, 403, 407})
_TOO_LONG_CODES = frozenset(
    {"context_length_exceeded", "exceed_context_size_error", "request_too_large"}
)
_CONTENT_CODES = frozenset({"content_filter", "content_policy_violation", "invalid_prompt"})
# Anthropic and several compatible servers tell these apart in words only.
_TOO_LONG_WORDS = re.compile(
    r"prompt is too long|context (?:length|window|size)|maximum context", re.IGNORECASE
)


class ConversationTooLong(ModelRejected):
    """The conversation does not fit the model's context; a shorter one may."""


class ConversationRefused(ModelRejected):
    """The provider will not answer this content."""


class AttemptFailed(ModelUnavailable):
    """One attempt failed in a way that another may mend; seen by the retry layer only."""

    retry_after_seconds: float | None = None
    """What the provider asked us to wait."""


class NoAnswerInTime(ModelUnavailable):
    """The first attempt was still running when the request's own time was up.

    The caller chose that time, so whether it means a slow model or a dead server is its call.
    """


@dataclass(frozen=True)
class ProviderError:
    """The error object of a response, as far as it could be read."""

    kind: str = ""
    code: str = ""
    param: str = ""
    message: str = ""

    @classmethod
    def read(cls, body: object) -> "ProviderError":
        """Read a decoded error body: OpenAI's inner object or Anthropic's outer one."""
        inner = body.get("error", body) if isinstance(body, Mapping) else None
        if not isinstance(inner, Mapping):
            return cls()

        def word(key: str) -> str:
            value = inner.get(key)
            return value if isinstance(value, str) else ""

        return cls(word("type"), word("code"), word("param"), word("message"))


def from_status(
    where: str, status: int, headers: Mapping[str, str], body: object, key: str
) -> ModelRejected | AttemptFailed:
    """Return the fault that an HTTP error status stands for.

    Args:
        where: Model and endpoint, for the message.
        status: 400 or above.
        headers: Of the response; `retry-after` is read.
        body: The decoded body, or whatever the SDK made of it.
        key: The API key, so that an echo of it can be struck out.
    """
    error = ProviderError.read(body)
    words = {error.kind, error.code}
    # An empty account answers 429 like a full queue, but waiting does not fill it.
    if (status in _TRANSIENT or status >= 500) and "insufficient_quota" not in words:
        failed = AttemptFailed(f"{where}: HTTP {status}{_detail(status, error, key)}")
        failed.retry_after_seconds = retry_after(headers)
        return failed
    message = f"{where}: HTTP {status}{_detail(status, error, key)}"
    if status in _CREDENTIALS:
        return ModelRejected(f"{message}: the API key is missing, wrong or lacks access")
    if words & _TOO_LONG_CODES or status == 413 or _TOO_LONG_WORDS.search(error.message):
        return ConversationTooLong(message)
    if words & _CONTENT_CODES:
        return ConversationRefused(message)
    return ModelRejected(message)


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds that `retry-after-ms` or `retry-after` ask for; None without either."""
    for name, scale in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        text = headers.get(name, "")
        try:
            return max(0.0, float(text) * scale)
        except ValueError:
            continue
    try:
        when = parsedate_to_datetime(headers.get("retry-after", ""))
    except ValueError:
        return None
    if when.tzinfo is None:
        when = when.replace(tzinfo=UTC)
    return max(0.0, (when - datetime.now(UTC)).total_seconds())


def one_line(text: str, key: str = "", limit: int = _MESSAGE_CHARS) -> str:
    """Return `text` on one line, without `key`, at most `limit` characters."""
    if key:
        text = text.replace(key, "[key]")
    text = " ".join(text.split())
    return text if len(text) <= limit else text[: limit - 1] + "…"


def _detail(status: int, error: ProviderError, key: str) -> str:
    code = one_line(error.code or error.kind, key, 60)
    named = f" {code}" if code else ""
    if status in _CREDENTIALS or not error.message:
        return named
    return f"{named}: {one_line(error.message, key)}"
