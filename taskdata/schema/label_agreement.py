"""Failure labels that people and labellers gave to the same trials, and how far they agree."""

import difflib
import re
from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Self

from pydantic import AfterValidator, Field, StringConstraints, model_validator

from taskdata.schema.base import Value
from taskdata.schema.diagnosis import LABELS, FailureLevels, FailureStage, FailureType, Taxonomy
from taskdata.schema.estimate import Estimate

ALL_LABELS: Mapping[str, tuple[str, ...]] = {
    "stage": tuple(stage.value for stage in FailureStage),
    "type": tuple(kind.value for kind in FailureType),
    "level": tuple(FailureLevels.model_fields),
    **{taxonomy.value: names for taxonomy, names in LABELS.items()},
}
"""The labels of each kind."""
ONE_OF_A_KIND = ("stage", "type", "infrastructure")
"""Kinds of which a trial has at most one label."""
SEVERAL_OF_A_KIND = tuple(kind for kind in ALL_LABELS if kind not in ONE_OF_A_KIND)
PLACE = re.compile(r"turn [1-9][0-9]{0,5}|(call|leaf|deliverable) \S.{0,250}")
"""A place in a trial's record, as people write it."""


def known_label(kind: str, name: str) -> str:
    """Return the name.

    Raises:
        ValueError: the kind has no such label; names the nearest one and all that there are.
    """
    names = ALL_LABELS[kind]
    if name in names:
        return name
    near = difflib.get_close_matches(name, names, n=1)
    meant = f"did you mean {near[0]!r}? " if near else ""
    raise ValueError(f"{kind} has no label {name[:60]!r}; {meant}there are: {', '.join(names)}")


def _readable_place(place: str) -> str:
    if place and not PLACE.fullmatch(place):
        raise ValueError(
            f"{place[:60]!r} is no place; write `turn 3`, `call ID`, `leaf ID` or "
            "`deliverable NAME`"
        )
    return place


Place = Annotated[str, AfterValidator(_readable_place)]
"""Where the evidence stands in a trial's record; empty: nowhere in particular."""


Note = Annotated[str, StringConstraints(max_length=2000, pattern=r"^[^\x00-\x08\x0b-\x1f\x7f]*$")]
"""What a person wrote: any text without control characters."""


class GivenLabels(Value):
    """Why a trial failed, as one rater sees it."""

    stage: FailureStage | None = None
    """None: the trial was lost outside the agent."""
    type: FailureType | None = None
    level: tuple[str, ...] = ()
    tool_use: tuple[str, ...] = ()
    long_run: tuple[str, ...] = ()
    arguments: tuple[str, ...] = ()
    infrastructure: str | None = None
    """A trial that has this label has no other."""

    @model_validator(mode="after")
    def _known_and_consistent(self) -> Self:
        for kind in SEVERAL_OF_A_KIND:
            for name in getattr(self, kind):
                known_label(kind, name)
        if self.infrastructure is None:
            if self.stage is None:
                raise ValueError(
                    f"stage: is missing; it is one of {', '.join(FailureStage)}, unless "
                    "infrastructure has a label"
                )
            return self
        known_label(Taxonomy.INFRASTRUCTURE.value, self.infrastructure)
        if others := [kind for kind in ALL_LABELS if kind != "infrastructure" and self.of(kind)]:
            raise ValueError(
                f"{others[0]}: a trial that was lost outside its agent has only the label of "
                "infrastructure; leave out one of the two"
            )
        return self

    def of(self, kind: str) -> tuple[str, ...]:
        """Return the labels of one kind."""
        value = getattr(self, kind)
        if kind in ONE_OF_A_KIND:
            return () if value is None else (str(value),)
        return tuple(value)


class LabelAnnotation(Value):
    """A person's labels of one stored trial."""

    trial_id: str
    annotator: str = Field(min_length=1, max_length=80, pattern=r"^[^\x00-\x1f\x7f]+$")
    labels: GivenLabels
    place: Place = ""
    """Where the evidence stands in the record."""
    note: Note = ""


class LabelRating(Value):
    """One rater's labels of one trial."""

    task: str
    rater: str = Field(min_length=1)
    labels: GivenLabels
    is_labeller: bool = False
    """Whether the rater is a program, not a person."""
    agent: str = ""
    """Whose trial it is; empty: unknown, then a task has one trial."""
    repetition: int = Field(default=0, ge=0)
    tier: str = ""
    """Of the task; empty: unknown. Argument errors are labels of atomic tasks only."""
    place: Place = ""
    note: Note = ""

    @property
    def trial(self) -> tuple[str, str, int]:
        """Task, agent and repetition."""
        return self.task, self.agent, self.repetition


class LabelPair(Value):
    """How far two raters agree on one label."""

    first: str
    second: str
    by_first: int = Field(ge=0)
    """The trials to which the first rater gave the label."""
    by_second: int = Field(ge=0)
    by_both: int = Field(ge=0)
    prevalence: float | None
    """The label's share (0-1) of the trials, as the mean of both raters; None: no trial."""
    kappa: Estimate
    """Cohen's kappa; its `n` is the trials that both labelled."""
    undefined: str | None = None
    """Why there is no kappa, in words; None: there is one."""


class Detection(Value):
    """How well a labeller finds a label, where what people say is true."""

    precision: Estimate
    """The share (0-1) of its labels that a person gave, too; `n`: its labels."""
    recall: Estimate
    """The share (0-1) of people's labels that it gave, too; `n`: people's labels."""
    f1: Estimate
    """Harmonic mean of both; `n`: pairs of a trial and a person."""


class LabelAgreement(Value):
    """Agreement on one label."""

    kind: str
    """`stage`, `type`, `level` or a taxonomy."""
    name: str | None
    """None: all labels of the kind at once, of which a trial has at most one."""
    pairs: tuple[LabelPair, ...]
    detection: Detection | None = None
    """None: the labels of the kind at once."""


class LabelCard(Value):
    """The evidence that a labeller of failures agrees with people."""

    labeller: str
    made_at: datetime
    code_version: str
    evidence: str
    """Where the labels are from: a file, or run ids."""
    tasks: int
    trials: int
    """That at least one person and the labeller have labelled."""
    annotators: tuple[str, ...]
    labels: tuple[LabelAgreement, ...]

    @property
    def raters(self) -> tuple[tuple[str, str], ...]:
        """The pairs of raters that have labelled the same trials: labellers with people first."""
        return tuple(dict.fromkeys((p.first, p.second) for one in self.labels for p in one.pairs))
