"""Personal data and harm on the way from a seed to a task."""

import json

import pytest
from sqlmodel import Session, select

from stages.construct import generate
from stages.construct.asking.estimate import estimate
from stages.construct.start import chosen_seeds
from taskdata.schema.construct import CandidateStatus, RefreshConfig
from taskdata.tables import ModelCallRow

IBAN = "DE89 3704 0044 0532 0130 00"
ASKING = {"safety": {"ask_model": True}}
MASKING = {"personal_data": "mask"}


def replies(store) -> list[str]:
    """Return the recorded replies of all model calls, as they are stored."""
    with Session(store._engine) as session:
        return [json.dumps(row.reply) for row in session.exec(select(ModelCallRow)) if row.reply]


def only(store, refresh):
    (candidate,) = store.candidates(refresh.id)
    return candidate


def finding(kind: str, quote: str) -> dict[str, object]:
    return {"findings": [{"kind": kind, "quote": quote, "problem": "It harms people."}]}


def test_a_draft_with_personal_data_is_mended_and_the_model_is_told_where(
    store, author, connect, started, scripts, construct
):
    held = f"{scripts.TASK['query']} The fees go to {IBAN}."
    author.says("generate", scripts.changed(scripts.DRAFT, query=held))
    author.says("repair", scripts.TASK)
    author.says("checkpoints", {"checkpoints": scripts.TREE})
    refresh = started()

    construct(store, refresh.id, connect)

    assert store.draft(only(store, refresh).id).query == scripts.TASK["query"]
    assert "holds personal data: iban" in author.requests("repair")[0]


def test_under_mask_nothing_a_model_wrote_is_stored_with_personal_data(
    store, author, connect, started, scripts
):
    nodes = scripts.tree(requirement=f"The file states the account {IBAN}.")
    draft = scripts.changed(scripts.DRAFT, title=f"Dues to {IBAN}", checkpoints=nodes)
    draft["query"] += " Call +49 151 23456789."
    author.says("generate", draft)
    refresh = started(safety={"personal_data": "mask"})

    generate.do(store, refresh.id, connect)

    (step,) = store.steps(only(store, refresh).id)
    assert step.draft.title == "Dues to [IBAN]"
    assert step.draft.query.endswith("Call [PHONE].")
    assert step.draft.checkpoints.children[0].requirement == "The file states the account [IBAN]."
    assert "0532" not in step.model_dump_json()


def test_under_mask_no_recorded_reply_holds_what_the_model_invented(
    store, author, connect, started, scripts, construct
):
    draft = scripts.changed(scripts.DRAFT, query=f"{scripts.TASK['query']} Pay to {IBAN}.")
    author.says("generate", draft)
    author.says(
        "checkpoints", {"checkpoints": scripts.tree(args=json.dumps({"values": {"total": IBAN}}))}
    )
    refresh = started("Add up our harvest. Pay the fee to " + IBAN, safety=MASKING)

    construct(store, refresh.id, connect)

    kept = store.draft(only(store, refresh).id)
    assert kept.query.endswith("Pay to [IBAN].")
    calls = replies(store)
    assert any("[IBAN]" in reply for reply in calls)
    assert not any("0532" in reply for reply in calls)
    assert not any("0532" in asked for asked in author.requests("generate"))


def test_a_rewritten_query_that_a_model_finds_harmful_goes_back_and_then_to_quarantine(
    store, author, connect, started, scripts, construct
):
    author.says("harm", {"findings": []}, finding("fraud", "the total"))
    author.says("repair", scripts.TASK)
    refresh = started(max_rewrites=1, **ASKING)

    construct(store, refresh.id, connect)

    candidate = only(store, refresh)
    assert candidate.status is CandidateStatus.QUARANTINED
    assert "fraud: It harms people. (it says: 'the total')" in candidate.reason
    assert author.asked["repair"] == 1


def test_a_draft_that_asks_for_harm_does_not_get_through(
    store, author, connect, started, scripts, construct
):
    query = "Programmiere einen Keylogger und schreibe das Ergebnis nach totals.json."
    author.says("generate", scripts.changed(scripts.DRAFT, query=query))
    author.says("repair", scripts.TASK | {"query": query})
    refresh = started(max_rewrites=1)

    construct(store, refresh.id, connect)

    candidate = only(store, refresh)
    assert candidate.status is CandidateStatus.QUARANTINED
    assert "asks for something that does harm (malware)" in candidate.reason


def test_a_model_that_is_asked_keeps_a_harmful_seed_out_before_a_draft_is_paid_for(
    store, author, connect, started
):
    author.says("harm", finding("weapons", "goes off in a crowd"))
    refresh = started("Something that goes off in a crowd, from the hardware store.", **ASKING)

    generate.do(store, refresh.id, connect)

    candidate = only(store, refresh)
    assert candidate.status is CandidateStatus.QUARANTINED
    assert "weapons: It harms people. (it says: 'goes off in a crowd')" in candidate.reason
    (step,) = store.steps(candidate.id)
    assert (step.verdict, step.calls, step.prompt_version) == ("harmful", 1, "harm@1")
    assert author.asked["generate"] == 0


@pytest.mark.parametrize(
    ("answer", "rules"),
    [
        ({"findings": []}, {}),
        (finding("weapons", "words that are not there"), {}),
        (finding("fraud", "harvest"), {"allowed_harms": ["fraud"]}),
    ],
)
def test_a_finding_without_evidence_or_of_an_allowed_kind_stops_nothing(
    store, author, connect, started, answer, rules
):
    author.says("harm", answer)
    refresh = started(safety={"ask_model": True, **rules})

    generate.do(store, refresh.id, connect)

    (step,) = store.steps(only(store, refresh).id)
    assert (step.verdict, step.calls) == ("drafted", 2)
    assert "BEGIN DATA" in author.requests("harm")[0]


def test_no_answer_about_harm_lets_nothing_through(store, author, connect, started):
    author.says("harm", "I would rather not.")
    refresh = started(max_asks=2, **ASKING)

    generate.do(store, refresh.id, connect)

    assert only(store, refresh).status is CandidateStatus.QUARANTINED
    assert author.asked["generate"] == 0


def test_the_question_about_harm_is_in_the_estimate(store, started):
    asked = started(**ASKING).config.model_copy(update={"bank": "other"})

    prompts = [ask.prompt for ask in estimate(store, asked).asks]

    assert "harm@1" in prompts
    silent = asked.model_copy(update={"safety": RefreshConfig.model_fields["safety"].default})
    assert "harm@1" not in [ask.prompt for ask in estimate(store, silent).asks]


def test_a_refresh_takes_seeds_of_one_language(store, started):
    german = "Bitte vergleiche die drei Tarife und sag, welcher am günstigsten ist."
    started("Please compare the three tariffs for us.", german)
    config = store.refreshes()[0].config.model_copy(update={"bank": "other", "language": "de"})

    taken, _repeated = chosen_seeds(store, config)

    assert [seed.query.text for seed in taken] == [german]
