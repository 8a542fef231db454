"""The arms of refinement: which feedback another attempt gets on the one before."""

from typing import Annotated, Any, Literal, get_args

from pydantic import AfterValidator, BeforeValidator, Field

from taskdata.schema.base import RelativePath, Value

Arm = Literal[
    "none",
    "coarse",
    "checkpoint",
    "diagnosis",
    "self",
    "self_taxonomy",
    "critic",
    "critic_taxonomy",
]
RefineIn = Literal["afresh", "workspace"]

ARMS: tuple[Arm, ...] = get_args(Arm)
SELF_ARMS: frozenset[str] = frozenset({"self", "self_taxonomy"})
"""The agent's own model writes the feedback."""
CRITIC_ARMS: frozenset[str] = frozenset({"critic", "critic_taxonomy"})
"""The run's critic writes the feedback."""
ASKING_ARMS = SELF_ARMS | CRITIC_ARMS
"""The feedback of these arms is written by a model, at the beginning of the refined trial."""
TAXONOMY_ARMS: frozenset[str] = frozenset({"self_taxonomy", "critic_taxonomy"})
"""The model that writes the feedback is shown the failure taxonomy."""

EARLIER_FOLDER = "previous_attempt"
"""Folder of the input files with what the attempt before left, where an attempt starts afresh."""


class EarlierAttempt(Value):
    """What an agent is told of the attempt that it refines; the same in all arms."""

    folder: str
    """Where its files are: `output`, where the agent goes on with them, or a folder to read."""
    files: tuple[RelativePath, ...] = ()
    answer: str = ""
    """Its final answer, or the beginning of a long one."""


def _listed(value: Any) -> Any:
    """Take one name, or several in one text with commas between them, for a list of names."""
    if isinstance(value, str):
        return tuple(name.strip() for name in value.split(",") if name.strip())
    return value


def _distinct(arms: tuple[Arm, ...]) -> tuple[Arm, ...]:
    if len(set(arms)) != len(arms):
        raise ValueError(f"an arm is named twice: {', '.join(arms)}")
    return arms


Arms = Annotated[
    tuple[Arm, ...], BeforeValidator(_listed), Field(min_length=1), AfterValidator(_distinct)
]
"""One arm or several, each once; also given as one text, as in `none,checkpoint`."""
