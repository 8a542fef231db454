"""What providers say went wrong, as the fault that callers act on."""

import pytest

from environments.models.faults import ConversationTooLong, from_status, says_too_large
from taskdata.errors import ModelRejected

TOO_LONG = {
    "Anthropic": "prompt is too long: 210000 tokens > 200000 maximum",
    "Anthropic, with the reply": "input length and `max_tokens` exceed context limit: 199759 + "
    "8192 > 200000, decrease input length or `max_tokens` and try again",
    "OpenAI": "Input tokens exceed the configured limit of 272000 tokens. Your messages resulted "
    "in 297006 tokens. Please reduce the length of the messages.",
    "OpenAI, responses": "Your input exceeds the context window of this model. Please adjust your "
    "input and try again.",
    "Gemini": "The input token count (1196265) exceeds the maximum number of tokens allowed "
    "(1048575).",
    "Vertex": "Unable to submit request because the input token count is 40000 but model only "
    "supports up to 32767.",
    "xAI": "This model's maximum prompt length is 131072 but the request contains 537812 tokens.",
    "TGI": "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: "
    "5000 `inputs` tokens and 512 `max_new_tokens`",
    "TGI, the input alone": "Input validation error: `inputs` must have less than 4095 tokens. "
    "Given: 5000",
    "vLLM": "The decoder prompt (length 5000) is longer than the maximum model length of 4096.",
    "SGLang": "The input (5000 tokens) is longer than the model's context length (4096 tokens).",
    "Bedrock": "Input is too long for requested model.",
    "Bedrock, counted": "Too many input tokens. Max input tokens: 8192, request input token "
    "count: 9279",
    "Groq": "Please reduce the length of the messages or completion.",
    "Moonshot": "Invalid request: Your request exceeded model token limit: 262144 (requested: "
    "310000)",
    "Qwen": "Range of input length should be [1, 30720]",
    "GitHub": "prompt token count of 130000 exceeds the limit of 128000",
    "Ollama": "prompt too long; exceeded max context length by 4 tokens",
}


def fault(message: str, status: int = 400) -> Exception:
    body = {"error": {"type": "invalid_request_error", "message": message}}
    return from_status("anthropic/m", status, {}, body, "key")


@pytest.mark.parametrize("message", TOO_LONG.values(), ids=TOO_LONG)
def test_a_conversation_that_does_not_fit_is_told_by_any_providers_words(message):
    assert type(fault(message)) is ConversationTooLong
    assert says_too_large({"error": {"message": message}})


@pytest.mark.parametrize(
    "message",
    [
        "max_tokens: 128000 > 64000, which is the maximum allowed number of output tokens",
        "max_tokens is too large: 200000. This model supports at most 16384 completion tokens.",
        "Invalid 'messages[2].tool_calls[0].function.name': string does not match pattern.",
        "Invalid 'input[0].name': string too long. Expected a string with maximum length 64.",
        "Unsupported value: 'reasoning.effort' does not support 'max' with this model.",
        "Rate limit reached: too many tokens per minute",
        "This request would exceed your rate limit of 40,000 input tokens per minute",
        "Quota exceeded for metric: generate_content_free_tier_input_token_count, limit: 250000",
    ],
)
def test_other_limits_are_not_taken_for_the_conversations_length(message):
    assert type(fault(message)) is ModelRejected
    assert not says_too_large({"error": {"message": message}})
