"""How much an Anthropic model thinks: the effort asked for, in the terms of its generation."""

import re
from typing import Any

from environments.ports import ModelRequest
from taskdata.errors import Misuse

# Up to 4.5 a model is given tokens to think with; later ones decide, guided by an effort.
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
"""As gateways translate effort into tokens: a share of what may be written at most."""
_LEAST_TOKENS = 1024


def thinking_fields(model: str, request: ModelRequest) -> dict[str, Any]:
    """Return the fields of a request that set its thinking; none where the default is wanted.

    Raises:
        Misuse: The reply may not be long enough to think at all.
    """
    effort = request.reasoning_effort
    if effort is None:
        return {}
    if effort == "none":
        return {"thinking": {"type": "disabled"}}
    if not _GIVEN_TOKENS.match(model):
        named = "low" if effort == "minimal" else effort
        # Later ones show nothing of it unless asked to, and bill the same either way.
        adaptive = {"type": "adaptive", "display": "summarized"}
        return {"thinking": adaptive, "output_config": {"effort": named}}
    if request.max_tokens <= _LEAST_TOKENS:
        raise Misuse(
            f"reasoning_effort {effort!r}: model {model} thinks with {_LEAST_TOKENS} tokens at "
            f"least, and a reply may have {request.max_tokens}; raise max_reply_tokens"
        )
    share = int(request.max_tokens * _SHARE_OF_OUTPUT[effort])
    return {"thinking": {"type": "enabled", "budget_tokens": max(_LEAST_TOKENS, share)}}
