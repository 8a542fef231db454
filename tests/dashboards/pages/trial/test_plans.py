"""The plan of a trial on its page: whatever a model wrote is cut and made harmless."""

from datetime import UTC, datetime

from dashboards.pages.trial.caps import CAPS
from dashboards.pages.trial.plans import planned
from taskdata.schema.plan import Plan, PlanReply, PlanStep, PlanVersion

REPLY = PlanReply(
    text="Look\u202e around." * 200,
    model="m",
    started_at=datetime(2026, 3, 1, tzinfo=UTC),
    seconds=2,
)


def test_an_agent_without_a_plan_has_none():
    assert planned(None, CAPS[0]) is None


def test_versions_come_with_their_steps_and_say_which_was_given():
    step = PlanStep(purpose="Read", tool="read_file")
    draft = PlanVersion(steps=(step,), replies=(REPLY,))
    refined = PlanVersion(
        steps=(step, PlanStep(purpose="Check")), criticism="No check.", replies=(REPLY,)
    )
    found = planned(Plan(draft=draft, refined=refined), CAPS[0])
    assert found["facts"][0] == ["Model calls", "2"]
    assert found["facts"][2] == ["Cost", "unknown"]
    first, second = found["versions"]
    assert (first["title"], first["notes"]) == ("Draft", "model m")
    assert first["steps"] == [{"tool": "read_file", "purpose": "Read"}]
    assert second["notes"] == "model m · the agent was given this one"
    assert second["steps"][1] == {"tool": "", "purpose": "Check"}


def test_long_and_unread_plans_are_cut():
    tight = CAPS[-1]
    many = PlanVersion(steps=(PlanStep(purpose="x" * 999),) * 60, replies=(REPLY,))
    (version,) = planned(Plan(draft=many), tight)["versions"]
    assert len(version["steps"]) == tight.nodes
    assert version["more"] == "20 steps not shown"
    assert version["steps"][0]["purpose"] == ["x" * tight.reason, 999 - tight.reason]
    unread = PlanVersion(fault="no JSON", replies=(REPLY,))
    (version,) = planned(Plan(draft=unread), tight)["versions"]
    assert version["fault"] == "no JSON"
    assert version["raw"][0].startswith("Look⟨U+202E⟩ around.")
    assert version["steps"] == []
