"""A trial that failed has an outcome with its cause, whatever else cannot be said of it."""

import pytest

from stages.execute import attempt as attempts
from stages.execute import collecting
from stages.execute import trial as trials
from stages.execute.attempt import cause, detail_of
from stages.execute.dialogue.journal import Journal
from taskdata.errors import SandboxFailed
from taskdata.schema.agent import AgentSpec
from taskdata.schema.run import OutcomeStatus
from taskdata.schema.task import TaskEnvironment
from taskdata.schema.transcript import Ending, MessageEvent

NOP = AgentSpec.parse("nop")


def test_causes_name_the_type_of_what_we_did_not_raise():
    assert cause(SandboxFailed("bwrap is gone\nsee doctor")) == "bwrap is gone see doctor"
    assert cause(OSError(28, "No space left")) == "OSError: [Errno 28] No space left"


def test_a_cause_that_no_store_holds_is_cleaned(evaluate, task, monkeypatch):
    def lost(*asked):
        raise SandboxFailed("cannot read output/\udcff\0")

    monkeypatch.setattr(collecting, "collect", lost)
    outcome, _ = evaluate(NOP, task)
    assert outcome.status is OutcomeStatus.INFRASTRUCTURE
    assert outcome.error == "cannot read output/?\N{REPLACEMENT CHARACTER}"
    assert "SandboxFailed" in outcome.error_detail


def test_events_that_cannot_be_kept_leave_the_cause(store):
    journal = Journal()
    journal.events.append(MessageEvent.model_construct(role="user", text="\udcff"))
    detail = detail_of(store, journal, SandboxFailed("bwrap is gone"))
    assert "bwrap is gone" in detail
    assert "could not be kept: PydanticSerializationError" in detail


def test_work_that_no_outcome_holds_is_a_failure_of_ours(evaluate, task, monkeypatch):
    async def odd(attempt, _ready):
        return trials.AgentWork(attempt.journal.close(Ending.FINISHED), -1.0)

    monkeypatch.setattr(trials, "run_agent", odd)
    outcome, _ = evaluate(NOP, task)
    assert outcome.status is OutcomeStatus.INFRASTRUCTURE
    assert "wall_seconds" in outcome.error


def test_counts_that_are_lost_are_unknown_and_the_cause_is_told(evaluate, task, monkeypatch):
    def broken(events):
        raise OverflowError("too many")

    monkeypatch.setattr(attempts.Counts, "of", broken)
    outcome, _ = evaluate(NOP, task)
    assert (outcome.status, outcome.error) == (
        OutcomeStatus.INFRASTRUCTURE,
        "OverflowError: too many",
    )
    assert (outcome.usage, outcome.cost_usd, outcome.turns) == (None, None, None)


@pytest.mark.parametrize(("own", "allowed", "turns"), [(100, 2, 2), (1, 2, 1)])
def test_the_lower_limit_of_turns_holds(evaluate, new_task, wire, own, allowed, turns):
    agent = AgentSpec.parse(
        "function_calling:compatible/m", base_url=wire.openai_url, budget={"max_turns": own}
    )
    wire.respond = lambda seen: wire.says("", ("sleep", {"seconds": 0.001}))
    task = new_task(tools=("sleep",), environment=TaskEnvironment(max_turns=allowed))
    outcome, _ = evaluate(agent, task)
    assert (outcome.ending, outcome.turns) == (Ending.OUT_OF_TURNS, turns)
