"""The thinking of an Anthropic model: the requested effort in the fields of its generation."""

import re
from typing import Any

from environments.ports import ModelRequest
from taskdata.errors import Misuse

# Models up to 4.5 get a thinking budget in tokens; later ones decide by an effort level.
_GIVEN_TOKENS = re.compile(
    r"^claude-(?:3|(?:opus|sonnet|haiku)-4(?:-[015])?(?:-\d{8}|-latest)?$)", re.ASCII
)
_SHARE_OF_OUTPUT = {
    "minimal": 0.1,
    "low": 0.2,
    "medium": 0.5,
    "high": 0.8,
    "xhigh": 0.9,
    "max": 0.95,
}
"""Share of the reply limit per effort, as gateways translate it."""
_LEAST_TOKENS = 1024


def thinking_fields(model: str, request: ModelRequest) -> dict[str, Any]:
    """Return the request fields that control thinking; empty for the provider's default.

    Raises:
        Misuse: the reply limit is too low for any thinking.
    """
    effort = request.reasoning_effort
    if effort is None:
        return {}
    if effort == "none":
        return {"thinking": {"type": "disabled"}}
    if not _GIVEN_TOKENS.match(model):
        named = "low" if effort == "minimal" else effort
        # Later models hide their thinking unless asked to show it; the price is the same.
        adaptive = {"type": "adaptive", "display": "summarized"}
        return {"thinking": adaptive, "output_config": {"effort": named}}
    if request.max_tokens <= _LEAST_TOKENS:
        raise Misuse(
            f"reasoning_effort {effort!r}: model {model} thinks with {_LEAST_TOKENS} tokens at "
            f"least, and a reply may have {request.max_tokens}; raise max_reply_tokens"
        )
    share = int(request.max_tokens * _SHARE_OF_OUTPUT[effort])
    return {"thinking": {"type": "enabled", "budget_tokens": max(_LEAST_TOKENS, share)}}
