"""The schema of a labeller's reply, and the check of the reply against the record of the trial."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from stages.diagnose.labelling.offer import Offer, taxonomy_of
from stages.diagnose.labelling.places import LEAST_QUOTE, Place
from stages.diagnose.record import MOST_EVIDENCE
from stages.diagnose.signals import one_line
from stages.score.matching import quote, storable
from taskdata.errors import LabelsRejected
from taskdata.schema.diagnosis import Evidence, FailureStage, FailureType, Label

MOST_LABELS = 6
_MOST_QUOTE_CHARS = 1_000
_MOST_REPLY_CHARS = 64_000
_MOST_PLACE_CHARS = 40
MOST_CONFIDENCE = 0.9
"""1 is kept for what the record states."""


class _Cited(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    place: Annotated[str, Field(min_length=1, max_length=_MOST_PLACE_CHARS)]
    quote: Annotated[str, Field(min_length=1, max_length=_MOST_QUOTE_CHARS)]


class _Given(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    name: str
    confidence: Annotated[float, Field(ge=0, le=1)]
    evidence: Annotated[tuple[_Cited, ...], Field(max_length=MOST_EVIDENCE, strict=False)]


class _Reply(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    stage: _Given | None = None
    type: _Given | None = None
    labels: Annotated[tuple[_Given, ...], Field(max_length=MOST_LABELS, strict=False)]


class Found(NamedTuple):
    """What a reply says, checked against the record."""

    stage: FailureStage | None
    """None: it was not open."""
    type: FailureType | None
    evidence: tuple[tuple[str, Evidence], ...]
    """What led to stage and type, by the name that it led to."""
    labels: tuple[Label, ...]


def reply_schema(offer: Offer) -> dict[str, Any]:
    """Return the JSON schema of a reply; it depends on nothing but what is on offer."""
    fields: dict[str, Any] = {}
    if offer.stages:
        # A stage that stays undetermined needs no evidence.
        fields["stage"] = _given_schema([stage.value for stage in offer.stages], least=0)
    if offer.types:
        fields["type"] = _given_schema([kind.value for kind in offer.types])
    items = _given_schema(offer.labels)
    fields["labels"] = {"type": "array", "items": items, "maxItems": MOST_LABELS}
    return _object(fields)


def _given_schema(names: Sequence[str], least: int = 1) -> dict[str, Any]:
    cited = _object({"place": {"type": "string"}, "quote": {"type": "string"}})
    return _object(
        {
            "name": {"type": "string", "enum": list(names)},
            "confidence": {"type": "number", "minimum": 0, "maximum": 1},
            "evidence": {
                "type": "array",
                "items": cited,
                "minItems": least,
                "maxItems": MOST_EVIDENCE,
            },
        }
    )


def _object(properties: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": False,
    }


def read_reply(text: str, offer: Offer, places: Mapping[str, Place], by: str) -> Found:
    """Return what a labeller's reply says about a trial.

    Args:
        text: The reply.
        offer: What the rules have left open.
        places: The places of the trial by name.
        by: The model that labels, as `provider/model`.

    Raises:
        LabelsRejected: the reply does not fit the schema, or names a label that is not on offer, a
            place that does not exist or a quote that does not stand there. The message quotes
            nothing of the reply, because it is shown to the model outside of the evidence.
    """
    reply = _parsed(text)
    for key, chosen, choices in (
        ("stage", reply.stage, offer.stages),
        ("type", reply.type, offer.types),
    ):
        _require_offered(key, chosen, [choice.value for choice in choices])
    _require_labels_offered(reply.labels, offer)
    proven = {
        key: _proven(key, chosen, places)
        for key, chosen in (("stage", reply.stage), ("type", reply.type))
        if chosen is not None
    }
    labels = tuple(
        Label(
            taxonomy=taxonomy_of(given.name),
            name=given.name,
            confidence=min(given.confidence, MOST_CONFIDENCE),
            evidence=_proven(given.name, given, places),
            by=by,
        )
        for given in reply.labels
    )
    return Found(
        stage=None if reply.stage is None else FailureStage(reply.stage.name),
        type=None if reply.type is None else FailureType(reply.type.name),
        evidence=tuple((key, one) for key, found in proven.items() for one in found),
        labels=labels,
    )


def _parsed(text: str) -> _Reply:
    if not text.strip():
        raise LabelsRejected("it is empty")
    if len(text) > _MOST_REPLY_CHARS:
        raise LabelsRejected(f"it has {len(text)} characters, at most {_MOST_REPLY_CHARS} are read")
    try:
        return _Reply.model_validate_json(text)
    except ValidationError as exc:
        fault = exc.errors(include_url=False, include_context=False, include_input=False)[0]
        raise LabelsRejected(_told(fault["type"], fault["loc"], fault["msg"])) from exc


def _told(kind: str, place: Sequence[str | int], said: str) -> str:
    """Return a schema fault without words of the reply, such as the name of an unknown field."""
    if kind == "extra_forbidden":
        return "it has a field that the form does not have"
    if kind == "json_invalid":
        return "it is no JSON object"
    return f"{'.'.join(map(str, place)) or 'it'}: {said}"


def _require_offered(key: str, chosen: _Given | None, choices: Sequence[str]) -> None:
    if chosen is None and choices:
        raise LabelsRejected(f"`{key}` is missing")
    if chosen is not None and chosen.name not in choices:
        raise LabelsRejected(
            f"`{key}` must be one of {', '.join(choices)}" if choices else f"`{key}` is not open"
        )


def _require_labels_offered(labels: Sequence[_Given], offer: Offer) -> None:
    for number, given in enumerate(labels, start=1):
        if given.name not in offer.labels:
            raise LabelsRejected(f"label {number} is not on offer")
    if len({given.name for given in labels}) < len(labels):
        raise LabelsRejected("a label is given twice")


def _proven(name: str, given: _Given, places: Mapping[str, Place]) -> tuple[Evidence, ...]:
    """Return the evidence for a label of ours, once all of it is found in the record."""
    if not given.evidence and given.name != FailureStage.UNDETERMINED:
        raise LabelsRejected(f"{name} has no evidence")
    for number, cited in enumerate(given.evidence, start=1):
        place = places.get(_place_name(cited.place))
        if place is None:
            raise LabelsRejected(f"evidence {number} of {name} names a place that does not exist")
        if not place.has(cited.quote):
            raise LabelsRejected(
                f"the quote of evidence {number} of {name} does not stand at the place that it "
                f"names, word for word and with {LEAST_QUOTE} characters or more"
            )
    return tuple(
        places[_place_name(cited.place)].evidence.model_copy(
            update={"says": one_line(storable(cited.quote))}
        )
        for cited in given.evidence
    )


def _place_name(written: str) -> str:
    return " ".join(written.split()).lower()


def quoted_reply(text: str) -> str:
    """Return the beginning of a rejected reply for a person who reads why it was rejected."""
    return quote(storable(text))
