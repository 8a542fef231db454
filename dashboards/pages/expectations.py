"""What a verifier expects, in lines for readers."""

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from taskdata.schema.checkpoint import Verifier


def plain_value(value: Any) -> str:
    """Return a JSON value as a person writes it: texts without quotes."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def expectations(verifier: "Verifier") -> Iterator[str]:
    """Yield where a verifier looks, and for what: values, rubric, tools."""
    match verifier.kind:
        case "check":
            yield f"in {verifier.deliverable or 'the final answer'}"
            for name, value in verifier.args.items():
                yield f"{name}: {plain_value(value)}"
        case "judge":
            yield f"of {', '.join(verifier.deliverables) or 'the final answer'}"
            yield f"rubric: {verifier.rubric}"
        case "tool_result":
            yield f"called: {' or '.join(verifier.tools)}"
            if verifier.contains:
                yield f"its result has: {', '.join(verifier.contains)}"
        case "asked_again":
            yield f"calls again after the trial: {verifier.tool} {plain_value(verifier.arguments)}"
            yield f"{verifier.check.name} of {verifier.check.deliverable or 'the final answer'}"
            for name, value in verifier.check.args.items():
                yield f"{name}: {plain_value(value)}"
        case "script":
            yield f"program: {verifier.entry}, which says its verdict by {verifier.verdict}"
