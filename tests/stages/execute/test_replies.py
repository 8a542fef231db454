"""Replies that are kept: asked once, or played back without asking anybody."""

import pytest

from stages.execute import work
from stages.prepare import work as preparing
from taskdata.errors import Misuse
from taskdata.schema.agent import AgentSpec


@pytest.fixture
def play(store, new_run, new_answer_task, wire, tmp_path):
    """Run one trial of a chatty agent with the given reply mode; return its outcome."""

    def run(replies: str, **config):
        wire.respond = lambda seen: wire.says("Thirteen.", input_tokens=30)
        agent = AgentSpec.parse("function_calling:compatible/m", base_url=wire.openai_url)
        task = new_answer_task("one", tools=("sleep", "finish"))
        made = new_run(task, agents=(agent,), replies=replies, refinement_rounds=0, **config)
        preparing.do(store, made.id)
        work.do(store, made.id, 0, tmp_path)
        (result,) = store.results(made.id)
        return result.outcome

    return run


def test_an_equal_question_of_another_run_is_not_asked_again(play, wire, store):
    first, second = play("keep"), play("keep")
    assert (first.final_answer, second.final_answer) == ("Thirteen.", "Thirteen.")
    assert len(wire.seen) == 1
    (event,) = [e for e in store.transcript(second.trial_id).events if e.kind == "model"]
    assert event.cached
    assert event.usage.input_tokens == 30


def test_a_recording_is_played_back_without_a_provider(play, wire):
    play("keep")
    wire.respond = None
    replayed = play("replay")
    assert (replayed.status, replayed.final_answer) == ("finished", "Thirteen.")
    assert len(wire.seen) == 1


def test_what_was_not_recorded_is_no_fault_of_the_agent(play):
    outcome = play("replay")
    assert outcome.status == "infrastructure"
    assert "no recorded reply" in outcome.error


def test_models_are_asked_unless_told_otherwise(play, wire):
    play("ask")
    play("ask")
    assert len(wire.seen) == 2


def test_a_replay_needs_no_key(new_run, monkeypatch):
    for variable in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY"):
        monkeypatch.delenv(variable, raising=False)
    asked = {"agents": ("react:openai/gpt-5.2",), "judge": {"provider": "anthropic", "model": "m"}}
    with pytest.raises(Misuse, match="OPENAI_API_KEY"):
        preparing.require(new_run(**asked).config)
    preparing.require(new_run(**asked, replies="replay").config)
