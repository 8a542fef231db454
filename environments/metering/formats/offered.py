"""Which fields a program's request may have: those known to stay within this evaluation.

The sandbox has no network, and a provider must not become one, so tools that the provider runs are
refused. So are state that the provider stores, another model, and features with a price of their
own. Providers and gateways keep adding such fields, so unknown fields are refused as well.
"""

from collections.abc import Mapping
from typing import Any

from environments.metering.formats.dialects import Dialect
from taskdata.errors import ModelRejected

_EVERYWHERE = "metadata model service_tier stream temperature tool_choice tools top_p"
_OPENAI = f"""{_EVERYWHERE} parallel_tool_calls prompt_cache_key prompt_cache_retention reasoning
    safety_identifier store stream_options top_logprobs user"""
_CHAT = f"""{_OPENAI} frequency_penalty function_call functions logit_bias logprobs
    max_completion_tokens max_tokens messages modalities n presence_penalty reasoning_effort
    response_format seed stop verbosity"""
# Fields of vLLM, SGLang, llama.cpp and gateways: sampling options, and whether to think.
_COMPATIBLE = """add_generation_prompt bad_words cache_prompt chat_template_kwargs
    continue_final_message dry_allowed_length dry_base dry_multiplier enable_thinking grammar
    guided_choice guided_grammar guided_json guided_regex ignore_eos include_reasoning
    include_stop_str_in_output json_schema length_penalty min_p min_tokens mirostat mirostat_eta
    mirostat_tau random_seed reasoning_format regex repeat_last_n repeat_penalty repetition_penalty
    safe_prompt separate_reasoning skip_special_tokens spaces_between_special_tokens
    stop_token_ids structured_outputs thinking thinking_budget top_a top_k typical_p usage
    xtc_probability xtc_threshold"""
_RESPONSES = f"""{_OPENAI} client_metadata include input instructions max_output_tokens
    max_tool_calls text truncation"""
_MESSAGES = f"""{_EVERYWHERE} cache_control context_management max_tokens messages output_config
    output_format stop_sequences system thinking top_k"""
_FIELDS = {
    "chat": frozenset(f"{_CHAT} {_COMPATIBLE}".split()),
    "responses": frozenset(_RESPONSES.split()),
    "messages": frozenset(_MESSAGES.split()),
}
_PLAIN_TIERS = ("auto", "default", "standard", "standard_only")
_OWN_TOOLS = ("function", "custom", "local_shell", "apply_patch")
_OWN_TOOL_PREFIXES = ("bash_", "text_editor_", "computer_", "memory_")
"""Prefixes of tools that Anthropic defines and the program runs."""
_SHOWN_CHARS = 60


def offered(dialect: Dialect, body: Mapping[str, Any]) -> dict[str, Any]:
    """Return a request without its empty and unknown fields.

    Raises:
        ModelRejected: the request asks for something that is not offered; names the field.
    """
    known = _FIELDS[dialect.name]
    for field, value in body.items():
        if field not in known and not _is_left_empty(value):
            raise ModelRejected(
                f"{field[:_SHOWN_CHARS]}: this evaluation does not offer it; leave it out"
            )
    if body.get("n") not in (None, 1):
        raise ModelRejected("n: one reply per call; leave it out")
    if body.get("modalities") not in (None, ["text"]):
        raise ModelRejected("modalities: replies are text; leave it out")
    tier = body.get("service_tier")
    if tier is not None and tier not in _PLAIN_TIERS:
        raise ModelRejected("service_tier: only the default one; leave it out")
    _require_clearing(body.get("context_management"))
    _require_own(body.get("tools"))
    return {field: value for field, value in body.items() if field in known}


def _is_left_empty(value: object) -> bool:
    """Whether a field asks for nothing; an empty object does not count, it asks for defaults."""
    return not value and not isinstance(value, dict)


def _require_clearing(management: object) -> None:
    """Accept context edits that only leave something out; others are model calls of their own."""
    edits = management.get("edits") if isinstance(management, dict) else None
    for edit in edits if isinstance(edits, list) else ():
        kind = edit.get("type") if isinstance(edit, dict) else None
        if not str(kind).startswith("clear_"):
            raise ModelRejected(
                f"context_management: {str(kind)[:_SHOWN_CHARS]!r} is not offered; leave it out"
            )


def _require_own(tools: object) -> None:
    if tools is None:
        return
    if not isinstance(tools, list) or not all(isinstance(tool, dict) for tool in tools):
        raise ModelRejected("tools: expected a list of objects")
    for tool in tools:
        kind = tool.get("type")
        # Without a type, it is a function if described as one, and otherwise what its key names.
        own = kind in _OWN_TOOLS if kind is not None else bool({"name", "function"} & set(tool))
        if not own and not str(kind).startswith(_OWN_TOOL_PREFIXES):
            raise ModelRejected(
                f"tools: {str(kind)[:_SHOWN_CHARS]!r} would run at the provider, outside of the "
                "sandbox; offer functions of your own"
            )
