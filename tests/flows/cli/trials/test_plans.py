"""`show TRIAL` says what an agent planned, and which version it was given."""

from datetime import UTC, datetime

import pytest

from flows.cli.trials.plans import write_plan
from taskdata.schema.plan import Plan, PlanReply, PlanStep, PlanVersion
from taskdata.schema.usage import Usage


def reply(text: str, fault: str = "", *, cached: bool = False) -> PlanReply:
    return PlanReply(
        text=text,
        model="gpt-x",
        fault=fault,
        usage=Usage(input_tokens=1_000, output_tokens=200),
        cost_usd=0.5,
        started_at=datetime(2026, 3, 1, tzinfo=UTC),
        seconds=1.5,
        cached=cached,
    )


STEPS = (PlanStep(purpose="Read [the] notes", tool="read_file"), PlanStep(purpose="Answer"))
DRAFT = PlanVersion(steps=STEPS, replies=(reply("{}", cached=True),))
BETTER = PlanVersion(
    steps=(*STEPS, PlanStep(purpose="Check")), criticism="No check.", replies=(reply("{}"),)
)
UNREAD = PlanVersion(fault="not JSON", replies=(reply("Hm.", "x"), reply("Read it. " * 600, "y")))


@pytest.fixture
def written(capsys):
    """Write a plan; returns what was written, with single spaces."""

    def write(plan: Plan, *, full: bool = False) -> str:
        write_plan(plan, full=full)
        return " ".join(capsys.readouterr().out.split())

    return write


def test_both_versions_are_written_with_their_steps(written):
    text = written(Plan(draft=DRAFT, refined=BETTER))
    assert "2 model calls, 2,400 tokens, $1.0000; all of it is part of the trial's usage" in text
    assert "Draft: gpt-x (1.5 s, shared with another trial) 1. read_file: Read [the] notes" in text
    assert "Refined: gpt-x (1.5 s) Criticism of the draft: No check." in text
    assert "2. Answer 3. Check" in text
    assert "was given the draft" not in text


def test_an_unread_plan_says_so_and_is_cut_unless_in_full(written):
    plan = Plan(draft=DRAFT, refined=UNREAD)
    text = written(plan)
    assert "Refined: gpt-x (3.0 s, asked twice) No plan could be read: not JSON" in text
    assert "As the model wrote it: Read it." in text
    assert "more characters; --full shows them" in text
    assert text.endswith("The agent was given the draft.")
    assert "more characters" not in written(plan, full=True)


def test_a_refused_plan_has_only_its_fault(written):
    text = written(Plan(draft=PlanVersion(fault="the provider refused: no")))
    assert text.endswith("Draft No plan could be read: the provider refused: no")
