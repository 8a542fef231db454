"""A reply counts only if its labels are on offer and its evidence is on record."""

from collections.abc import Callable

import pytest

from stages.diagnose.labelling.offer import MEANINGS, Offer, offer_of, taxonomy_of
from stages.diagnose.labelling.places import Places
from stages.diagnose.labelling.replies import MOST_CONFIDENCE, Found, read_reply
from stages.diagnose.record import Record
from stages.diagnose.stored import diagnosed
from taskdata.errors import LabelsRejected
from taskdata.schema.diagnosis import LABELS, FailureStage
from taskdata.schema.views import RenderedDeliverable, TextView
from tests.stages.diagnose.labelling.conftest import EVENTS, MEMO, MISREAD, given, labels

ANSWER = "The memo is done."
REASON = "cells do not agree with the table"


@pytest.fixture
def record(failed: Callable[..., Record]) -> Record:
    reasons = dict.fromkeys(["totals", "sheets", "facts", "headings", "tone"], REASON)
    return failed(*EVENTS, files=["memo.docx"], reasons=reasons, answer=ANSWER)


@pytest.fixture
def read(record: Record) -> Callable[[str], Found]:
    """Read a reply about a trial whose stage and type are decided."""
    file = RenderedDeliverable(name="memo.docx", sha256="a" * 64, view=TextView(text=MEMO))
    offer = offer_of(diagnosed(record))

    def found(text: str, offer: Offer = offer) -> Found:
        return read_reply(text, offer, Places(record, [file]).named, "compatible/l")

    return found


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        ("", "it is empty"),
        ("Hm.", "it is no JSON object"),
        ("[]", "it: Input should be an object"),
        ("{}", "labels: Field required"),
        (labels(*[MISREAD] * 100), "labels: Tuple should have at most 6 items"),
        (labels(MISREAD, MISREAD), "a label is given twice"),
        (labels(MISREAD | {"confidence": 1.5}), "labels.0.confidence: Input should be less"),
        (labels(MISREAD | {"confidence": "high"}), "labels.0.confidence: Input should be a valid"),
        (labels(MISREAD | {"ignore the rules": 1}), "it has a field that the form does not have"),
        (labels(given("sabotage", ("call 1", "Hotel: 120 a night"))), "label 1 is not on offer"),
        (labels(given("premature_stop", ("turn 2", "I write the"))), "label 1 is not on offer"),
        (labels(given("lost_context")), "lost_context has no evidence"),
        (labels(given("lost_context", *[("call 1", "Hotel: 120")] * 6)), "at most 5 items"),
        (labels(given("lost_context", ("call 9", "There is no"))), "a place that does not exist"),
        (labels(given("lost_context", ("readpdf", "Hotel: 120"))), "a place that does not exist"),
        (labels(given("lost_context", ("x" * 99, "Hotel: 120"))), "at most 40 characters"),
        (labels(given("lost_context", ("call 1", "Hotel: 95 a night"))), "does not stand at the"),
        (labels(given("lost_context", ("call 2", "Hotel: 120 a night"))), "does not stand at the"),
        (labels(given("lost_context", ("call 1", "Hotel"))), "does not stand at the place"),
        (labels(given("lost_context", ("call 1", " " * 9))), "does not stand at the place"),
        (labels(given("lost_context", ("call 1", "x" * 2_000))), "at most 1000 characters"),
        (labels(given("lost_context", ("call 1", "x" * 1_000_000))), "at most 64000 are read"),
        (labels(stage=given("plan", ("turn 2", "so I write"))), "`stage` is not open"),
        (labels(type=given("reasoning", ("turn 2", "so I write"))), "`type` is not open"),
    ],
)
def test_what_does_not_hold_is_rejected_in_words_of_ours(read, reply: str, reason: str):
    with pytest.raises(LabelsRejected) as found:
        read(reply)
    assert reason in str(found.value)
    assert len(str(found.value)) < 200
    assert "ignore the rules" not in str(found.value)


def test_a_quote_may_differ_in_white_space_and_stand_in_arguments_files_or_leaves(read):
    evidence = [
        ("Call  2", "Dear all, the trip costs 412 euros"),
        ("deliverable 2", "the trip  costs\n412 euros"),
        ("final answer", ANSWER),
        ("leaf 1", REASON),
        ("call 3", "There is no such file."),
    ]
    (label,) = read(labels(given("lost_context", *evidence))).labels
    places = [(e.turn, e.call, e.deliverable) for e in label.evidence]
    assert places[:3] == [(2, "write_file", None), (None, None, "memo.docx"), (2, None, None)]
    assert label.evidence[3].leaf == "totals"
    assert [one.says for one in label.evidence][2:4] == [ANSWER, REASON]


def test_an_open_stage_must_be_decided_or_left_open_in_so_many_words(read):
    offer = Offer(stages=(FailureStage.PLAN, FailureStage.UNDETERMINED), types=(), labels=())
    with pytest.raises(LabelsRejected, match="`stage` is missing"):
        read(labels(), offer)
    with pytest.raises(LabelsRejected, match="`stage` must be one of plan, undetermined"):
        read(labels(stage=given("reason", ("turn 2", "The hotel is"))), offer)
    with pytest.raises(LabelsRejected, match="stage has no evidence"):
        read(labels(stage=given("plan")), offer)
    assert read(labels(stage=given("undetermined")), offer).stage is FailureStage.UNDETERMINED


def test_certainty_is_kept_for_what_the_record_states(read):
    (label,) = read(labels(MISREAD | {"confidence": 1})).labels
    assert label.confidence == MOST_CONFIDENCE < 1


def test_what_a_rule_has_decided_is_not_on_offer(record: Record):
    by_rules = diagnosed(record)
    names = {label.name for label in by_rules.labels}
    assert "no_verification" in names
    offer = offer_of(by_rules)
    assert (offer.stages, offer.types) == ((), ())
    assert names.isdisjoint(offer.labels)
    # A rule has looked at the last state of the file.
    assert set(MEANINGS) - set(offer.labels) == {
        "parameter_object_selection_error",
        "incomplete_verification",
    }


def test_all_labels_on_offer_are_of_a_taxonomy():
    assert all(name in LABELS[taxonomy_of(name)] for name in MEANINGS)
