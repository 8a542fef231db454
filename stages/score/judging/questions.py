"""Groups leaves into questions to a judge, and reads the verdicts in the judge's replies."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from environments.ports import ModelReply
from stages.score.judging.sight import REPLY_TOKENS
from stages.score.matching import quote
from taskdata.errors import JudgeUnreadable
from taskdata.schema.checkpoint import Checkpoint, Judge

MOST_TOGETHER = 8
"""The most leaves of one question; a larger group is split into several questions."""
_FURTHER_REPLY_TOKENS = 128
"""Tokens for each verdict after the first: a number and up to three sentences."""


class Asked(NamedTuple):
    """A judged leaf."""

    leaf: Checkpoint
    verifier: Judge


class JudgeReply(BaseModel):
    """A verdict on one leaf; no other fields are accepted."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    score: Annotated[int, Field(ge=0, le=10)]
    evidence: Annotated[str, Field(min_length=1)]


_MANY = TypeAdapter(dict[str, JudgeReply])
_VERDICT_SCHEMA = {
    "type": "object",
    "properties": {
        "score": {"type": "integer", "minimum": 0, "maximum": 10},
        "evidence": {"type": "string"},
    },
    "required": ["score", "evidence"],
    "additionalProperties": False,
}


def asked_together(root: Checkpoint) -> list[tuple[Asked, ...]]:
    """Return the judged leaves of a tree, each once, in groups that share a question.

    The judged leaves directly below a node that requires all of its children are a group. Every
    other leaf is a group of its own.
    """
    if root.verifier is not None:
        return [(one,) for one in _judged((root,))]
    groups: list[tuple[Asked, ...]] = []
    for node in root.nodes():
        most = MOST_TOGETHER if node.rule == "all_required" else 1
        leaves = tuple(_judged(node.children))
        groups += [leaves[start : start + most] for start in range(0, len(leaves), most)]
    return groups


def _judged(leaves: Sequence[Checkpoint]) -> Iterator[Asked]:
    for leaf in leaves:
        if isinstance(leaf.verifier, Judge):
            yield Asked(leaf, leaf.verifier)


def reply_tokens(leaves: int) -> int:
    """Return the most tokens of a reply with that many verdicts."""
    return REPLY_TOKENS + (leaves - 1) * _FURTHER_REPLY_TOKENS


def verdict_schema(leaves: int) -> dict[str, Any]:
    """Return the JSON schema of a reply; several verdicts are keyed by their numbers."""
    if leaves == 1:
        return _VERDICT_SCHEMA
    numbers = [str(number) for number in range(1, leaves + 1)]
    return {
        "type": "object",
        "properties": dict.fromkeys(numbers, _VERDICT_SCHEMA),
        "required": numbers,
        "additionalProperties": False,
    }


def read_verdicts(group: Sequence[Asked], reply: ModelReply) -> list[JudgeReply]:
    """Return the verdict on each leaf.

    Raises:
        JudgeUnreadable: the reply does not fit the schema.
    """
    about = ", ".join(repr(one.leaf.id) for one in group)
    try:
        if len(group) == 1:
            return [JudgeReply.model_validate_json(reply.text)]
        found = _MANY.validate_json(reply.text)
    except ValidationError as exc:
        fault = exc.errors(include_url=False, include_context=False)[0]
        where = ".".join(map(str, fault["loc"])) or "reply"
        raise JudgeUnreadable(
            f"the judge's reply for {about} is no verdict ({where}: {fault['msg']}): "
            f"{quote(reply.text)}"
        ) from exc
    return _numbered(found, about, len(group))


def _numbered(found: Mapping[str, JudgeReply], about: str, leaves: int) -> list[JudgeReply]:
    numbers = [str(number) for number in range(1, leaves + 1)]
    if sorted(found) != sorted(numbers):
        raise JudgeUnreadable(
            f"the judge's reply for {about} has verdicts on {', '.join(map(quote, found))} "
            f"and not on 1 to {leaves}"
        )
    return [found[number] for number in numbers]
