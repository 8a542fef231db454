"""Token usage as OpenAI's formats and compatible servers report it."""

from typing import Any

from pydantic import AliasChoices, Field

from environments.models.wire.reading import Count, Wire, read_usage
from taskdata.schema.transcript import Usage


class _InputDetails(Wire):
    cached_tokens: Count | None = None
    cache_write_tokens: Count | None = None


class _OutputDetails(Wire):
    reasoning_tokens: Count | None = None


class _Usage(Wire):
    """Chat completions report prompt and completion tokens, responses input and output tokens."""

    read: Count = Field(validation_alias=AliasChoices("prompt_tokens", "input_tokens"))
    written: Count = Field(validation_alias=AliasChoices("completion_tokens", "output_tokens"))
    of_read: _InputDetails | None = Field(
        default=None,
        validation_alias=AliasChoices("prompt_tokens_details", "input_tokens_details"),
    )
    of_written: _OutputDetails | None = Field(
        default=None,
        validation_alias=AliasChoices("completion_tokens_details", "output_tokens_details"),
    )
    hit: Count | None = Field(default=None, validation_alias="prompt_cache_hit_tokens")
    """DeepSeek's name for cached tokens."""


def usage_of(raw: Any) -> Usage | None:
    """Return the usage that an answer reports; None if it is missing or invalid."""
    form = read_usage(raw, _Usage)
    if form is None:
        return None
    of_read, of_written = form.of_read or _InputDetails(), form.of_written or _OutputDetails()
    cached, kept = of_read.cached_tokens or form.hit or 0, of_read.cache_write_tokens or 0
    thought = of_written.reasoning_tokens or 0
    if cached + kept > form.read:
        return None
    return Usage(
        input_tokens=form.read,
        output_tokens=form.written,
        cached_input_tokens=cached,
        cache_write_tokens=kept,
        reasoning_tokens=thought,
    )
