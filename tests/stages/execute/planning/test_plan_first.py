"""Agents that plan before they work, against a scripted provider."""

import json
from hashlib import sha256

import pytest

from stages.execute import work
from stages.execute.harness import in_mode, require_agent
from stages.prepare import work as preparing
from taskdata.errors import Misuse, StoreUnavailable
from taskdata.schema.agent import AgentSpec
from taskdata.schema.environment import LAUNCH_TIME
from taskdata.schema.transcript import Ending

PROSE = "First I would look at the notes."
STEPS = "1. read_file: Read the notes\n2. Say how many lines there are"


@pytest.fixture
def task(new_answer_task):
    return new_answer_task(tools=("read_file", "finish"))


def told(wire, number: int = -1) -> str:
    """Return the task as a working agent's model was told it."""
    works = [s for s in wire.seen if not s.body["messages"][0]["content"].startswith("You plan")]
    return next(m["content"] for m in works[number].body["messages"] if m["role"] == "user")


def test_an_agent_that_does_not_plan_is_asked_as_before(
    evaluated, task, planning_agent, planning_wire
):
    outcome, transcript = evaluated(task, planning_agent("react"))["react:compatible/m"]
    assert planning_wire.asked() == {"work": 1}
    assert "plan" not in told(planning_wire)
    assert "plan" not in json.loads(transcript.model_dump_json())
    assert outcome.prompt_version == "react_v3+task_v1"
    assert "planning" not in json.loads(planning_agent("react").canonical_json())


@pytest.mark.parametrize("harness", ["react", "function_calling"])
def test_a_plan_is_made_stored_and_given_with_the_task(
    evaluated, task, planning_agent, planning_wire, harness
):
    agent = planning_agent(f"{harness}+plan_first")
    outcome, transcript = evaluated(task, agent)[f"{harness}+plan_first:compatible/m"]
    assert planning_wire.asked() == {"draft": 1, "work": 1}
    assert "- read_file(" in planning_wire.seen[0].body["messages"][0]["content"]
    assert f"\n{STEPS}\n" in told(planning_wire) + "\n"
    plan = transcript.plan
    assert [step.tool for step in plan.draft.steps] == ["read_file", None]
    assert (plan.refined, plan.followed) == (None, plan.draft)
    assert (plan.usage.total, transcript.usage.total, outcome.usage.total) == (120, 135, 135)
    assert (transcript.turns, outcome.turns) == (1, 1)
    assert outcome.prompt_version.endswith("+task_v1+plan_v1")


def test_a_refined_plan_is_what_the_agent_works_by(evaluated, task, planning_agent, planning_wire):
    agent = planning_agent("react+plan_refine")
    outcome, transcript = evaluated(task, agent)[agent.name]
    assert planning_wire.asked() == {"draft": 1, "refine": 1, "work": 1}
    assert "3. Count again" in told(planning_wire)
    plan = transcript.plan
    assert plan.draft.text == STEPS
    assert plan.refined.criticism == "Nothing is checked."
    assert plan.followed is plan.refined
    assert outcome.prompt_version == "react_v3+task_v1+plan_v1+plan_refine_v1"


def test_agents_side_by_side_share_one_draft_and_are_told_apart(
    evaluated, task, planning_agent, planning_wire, store
):
    draft = planning_wire.replies["draft"]
    # Both trials begin at once, and the second one asks while the first one waits for its reply.
    planning_wire.replies["draft"] = planning_wire.waits(0.3, draft)
    ways = ("react", "react+plan_first", "react+plan_refine", "function_calling+plan_first")
    found = evaluated(task, *map(planning_agent, ways), trials_per_worker=4)
    assert planning_wire.asked() == {"draft": 1, "refine": 1, "work": 4}
    assert set(found) == {f"{way}:compatible/m" for way in ways}
    plans = [transcript.plan for _, transcript in found.values() if transcript.plan is not None]
    assert {plan.draft.text for plan in plans} == {STEPS}
    assert sorted(plan.draft.replies[0].cached for plan in plans) == [False, True, True]
    # What a plan took counts for every agent that works by it, but was paid once.
    assert {plan.draft.replies[0].usage.total for plan in plans} == {120}


def test_repetitions_and_other_runs_have_drafts_of_their_own(
    evaluated, task, planning_agent, planning_wire
):
    evaluated(task, planning_agent("react+plan_first"), repetitions=2)
    assert planning_wire.asked()["draft"] == 2
    evaluated(task, planning_agent("react+plan_first"))
    assert planning_wire.asked()["draft"] == 3


def test_kept_replies_are_the_drafts_of_other_runs(evaluated, task, planning_agent, planning_wire):
    evaluated(task, planning_agent("react+plan_first"), replies="keep")
    evaluated(task, planning_agent("react+plan_refine"), replies="keep")
    assert planning_wire.asked() == {"draft": 1, "refine": 1, "work": 2}
    evaluated(task, planning_agent("react+plan_refine"), replies="replay")
    assert len(planning_wire.seen) == 4


def test_a_plan_that_cannot_be_read_is_asked_for_once_more(
    evaluated, task, planning_agent, planning_wire
):
    planning_wire.replies["draft"] = planning_wire.says(PROSE)
    agent = planning_agent("react+plan_first")
    _, transcript = evaluated(task, agent)[agent.name]
    first, second = transcript.plan.draft.replies
    assert (first.text, second.fault) == (PROSE, "")
    assert "not JSON" in first.fault or "empty" in first.fault
    assert transcript.plan.draft.text == STEPS


def test_a_plan_that_stays_unreadable_is_given_as_written(
    evaluated, task, planning_agent, planning_wire
):
    planning_wire.replies |= dict.fromkeys(("draft", "again"), planning_wire.says(PROSE))
    agent = planning_agent("react+plan_first")
    outcome, transcript = evaluated(task, agent)[agent.name]
    assert (outcome.status, transcript.ending) == ("finished", Ending.FINISHED)
    assert planning_wire.asked() == {"draft": 1, "again": 1, "work": 1}
    assert transcript.plan.draft.fault
    assert transcript.plan.draft.text == PROSE
    assert PROSE in told(planning_wire)


def test_an_unreadable_refinement_leaves_the_draft(evaluated, task, planning_agent, planning_wire):
    bad = planning_wire.says('{"criticism": "none", "steps": []}')
    planning_wire.replies |= dict.fromkeys(("refine", "again"), bad)
    agent = planning_agent("react+plan_refine")
    _, transcript = evaluated(task, agent)[agent.name]
    assert transcript.plan.refined.fault.startswith("steps: ")
    assert transcript.plan.followed is transcript.plan.draft
    assert STEPS in told(planning_wire)


def test_a_refused_plan_is_none(evaluated, task, planning_agent, planning_wire):
    refusal = planning_wire.fails(400, "no", code="content_policy_violation")
    planning_wire.replies["draft"] = refusal
    agent = planning_agent("react+plan_refine")
    outcome, transcript = evaluated(task, agent)[agent.name]
    assert outcome.final_answer == "2"
    assert transcript.plan.draft.fault.startswith("the provider refused")
    assert "plan" not in told(planning_wire)


@pytest.mark.parametrize(
    ("budget", "ending"),
    [({"max_tokens": 110}, "out_of_tokens"), ({"max_tokens": 230}, "out_of_tokens")],
)
def test_a_budget_that_planning_uses_up_ends_the_trial(
    evaluated, task, planning_agent, planning_wire, budget, ending
):
    agent = planning_agent("react+plan_refine", budget=budget)
    outcome, transcript = evaluated(task, agent)[agent.name]
    assert (outcome.status, outcome.ending) == ("finished", ending)
    assert planning_wire.asked()["work"] == 0
    assert transcript.plan.draft.text == STEPS
    assert outcome.usage.total == transcript.plan.usage.total
    assert outcome.turns == 0


def test_money_that_planning_has_used_is_gone_for_the_work(
    evaluated, task, planning_agent, planning_wire, monkeypatch
):
    monkeypatch.setenv("OPENAI_API_KEY", "key")
    monkeypatch.setenv("OPENAI_BASE_URL", planning_wire.openai_url)
    planning_wire.replies["draft"] = planning_wire.says(
        json.dumps({"steps": [{"purpose": "Read"}]}), input_tokens=20_000, output_tokens=100
    )
    agent = AgentSpec.parse("react+plan_first:openai-chat/gpt-4o", budget={"max_usd": 0.054})
    outcome, transcript = evaluated(task, agent)[agent.name]
    assert transcript.plan.cost_usd == pytest.approx(0.051)
    assert outcome.cost_usd == pytest.approx(0.051)
    assert outcome.ending == "out_of_money"


def test_turns_are_for_the_work_alone(evaluated, task, planning_agent, planning_wire):
    agent = planning_agent("react+plan_refine", budget={"max_turns": 1})
    outcome, _ = evaluated(task, agent)[agent.name]
    assert (outcome.ending, outcome.final_answer, outcome.turns) == ("finished", "2", 1)


def test_a_later_attempt_pays_for_no_plan_again(
    store, new_run, task, planning_agent, planning_wire, tmp_path
):
    agents = (planning_agent("react+plan_first"), planning_agent("react+plan_refine"))
    run = new_run(task, agents=agents, refinement_rounds=0)
    preparing.do(store, run.id)
    answer = planning_wire.replies["work"]
    planning_wire.replies["work"] = planning_wire.fails(401, "no")
    work.do(store, run.id, 0, tmp_path / "home")
    assert len(work.due(store, run.id, 0)) == 2
    planned = planning_wire.asked()
    planning_wire.replies["work"] = answer
    work.do(store, run.id, 0, tmp_path / "home")
    assert work.due(store, run.id, 0) == []
    after = planning_wire.asked()
    assert (after["draft"], after["refine"]) == (planned["draft"], planned["refine"]) == (1, 1)


def test_a_failed_attempt_names_what_planning_took(evaluated, task, planning_agent, planning_wire):
    planning_wire.replies["work"] = planning_wire.fails(401, "no")
    agent = planning_agent("react+plan_first")
    outcome, _ = evaluated(task, agent)[agent.name]
    assert outcome.status == "infrastructure"
    assert outcome.usage.total == 120
    assert "The events up to here: artifact" in outcome.error_detail


@pytest.mark.parametrize(
    ("name", "settings", "why"),
    [
        ("reference+plan_first", {}, "no model that could be asked for a plan; remove planning"),
        ("nop", {"planning": "plan_first"}, "no model that could be asked"),
        (
            "command+plan_refine",
            {"command": ("true",)},
            r"name one \(command\+plan_refine:provider/model\)",
        ),
        ("react_steps+plan_first:openai/m", {}, "step by step the reference is the plan"),
    ],
)
def test_an_agent_that_cannot_plan_is_refused_with_a_way_out(name, settings, why):
    with pytest.raises(Misuse, match=why):
        require_agent(AgentSpec.parse(name, **settings))


def test_the_way_of_planning_is_part_of_the_name():
    agent = AgentSpec.parse("react:openai/m", planning="plan_first")
    assert agent.name == "react+plan_first:openai/m"
    assert AgentSpec.parse(agent.name) == agent
    assert AgentSpec.parse("react+direct:openai/m") == AgentSpec.parse("react:openai/m")
    with pytest.raises(Misuse, match="there are direct, plan_first, plan_refine"):
        AgentSpec.parse("react+plan:openai/m")
    with pytest.raises(Misuse, match="differ; remove one"):
        AgentSpec.parse("react+plan_first:openai/m", planning="plan_refine")
    with pytest.raises(Misuse, match="step by step"):
        require_agent(in_mode(agent, "step-by-step"))


def test_a_draft_that_failed_is_asked_for_by_the_next(
    evaluated, task, planning_agent, planning_wire
):
    draft = planning_wire.replies["draft"]
    planning_wire.then(planning_wire.waits(0.2, planning_wire.fails(401, "no")))
    agents = (planning_agent("react+plan_first"), planning_agent("react+plan_refine"))
    planning_wire.replies["draft"] = draft
    found = evaluated(task, *agents)
    assert sorted(outcome.status for outcome, _ in found.values()) == ["finished", "infrastructure"]
    assert planning_wire.asked()["draft"] == 2


def test_a_trial_whose_worker_dies_is_planned_once(
    store, new_run, task, planning_agent, planning_wire, tmp_path, monkeypatch
):
    run = new_run(task, agents=(planning_agent("react+plan_refine"),), refinement_rounds=0)
    preparing.do(store, run.id)

    def dies(outcome):
        raise StoreUnavailable("killed")

    with monkeypatch.context() as patched:
        patched.setattr(store, "record_outcome", dies)
        with pytest.raises(StoreUnavailable, match="killed"):
            work.do(store, run.id, 0, tmp_path / "home")
    asked = planning_wire.asked()
    work.do(store, run.id, 0, tmp_path / "home")
    (result,) = store.results(run.id)
    assert result.outcome.final_answer == "2"
    assert planning_wire.asked() == asked == {"draft": 1, "refine": 1, "work": 1}
    plan = store.transcript(result.trial.id).plan
    assert [reply.cached for reply in plan.replies] == [False, False]


def test_a_program_finds_the_plan_in_its_task(evaluated, task, planning_agent, planning_wire):
    planning_wire.replies["draft"] = planning_wire.says(
        '{"steps": [{"purpose": "Read the notes", "tool": null}]}', input_tokens=90
    )
    line = "grep '1. Read' TASK.md"
    agent = planning_agent("command+plan_first", label="my-script", command=("/bin/sh", "-c", line))
    outcome, transcript = evaluated(task, agent)["my-script"]
    assert outcome.final_answer == "1. Read the notes"
    assert "brings tools of its own" in planning_wire.seen[0].body["messages"][0]["content"]
    assert transcript.plan.usage.input_tokens == outcome.usage.input_tokens == 90


def test_what_a_plan_took_is_gone_for_a_loop_of_its_own(
    evaluated, task, planning_agent, planning_wire
):
    planning_wire.replies["work"] = planning_wire.says("2", input_tokens=10, output_tokens=5)
    limits = {"max_reply_tokens": 100, "max_tokens": 1_000_000}
    agent = planning_agent("pydantic_ai+plan_first", budget=limits)
    outcome, _ = evaluated(task, agent)[agent.name]
    assert (outcome.final_answer, outcome.usage.total) == ("2", 135)
    assert STEPS in told(planning_wire)
    tight = planning_agent("pydantic_ai+plan_first", budget=limits | {"max_tokens": 150})
    outcome, _ = evaluated(task, tight)[tight.name]
    assert (outcome.ending, planning_wire.asked()["work"]) == ("out_of_tokens", 1)


def test_a_draft_is_shared_though_each_agent_is_told_when_it_began(
    evaluated, new_answer_task, planning_agent, planning_wire
):
    task = new_answer_task(
        tools=("read_file", "finish"), environment={"system_prompt": f"It is {LAUNCH_TIME}."}
    )
    agents = (planning_agent("react+plan_first"), planning_agent("react+plan_refine"))
    evaluated(task, *agents)
    assert planning_wire.asked() == {"draft": 1, "refine": 1, "work": 2}
    assert "It is 2" in planning_wire.seen[0].body["messages"][0]["content"]


def test_a_plan_for_another_attempt_knows_the_feedback(
    evaluate, task, planning_agent, planning_wire
):
    evaluate(planning_agent("react+plan_first"), task, feedback="The total is missing.")
    draft, work = (seen.body["messages"][1]["content"] for seen in planning_wire.seen)
    assert "The total is missing." in draft
    assert work.index("The total is missing.") < work.index(STEPS)


def test_files_that_a_provider_turns_down_do_not_prevent_the_plan(
    evaluate, new_answer_task, planning_agent, planning_wire, store
):
    picture = b"\x89PNG\r\n\x1a\n" + b"pixels"
    store.artifacts.put_bytes(picture)
    file = {"path": "a.png", "sha256": sha256(picture).hexdigest(), "size_bytes": len(picture)}
    task = new_answer_task(tools=("read_file", "finish"), files=(file,))

    def respond(seen):
        has_picture = "image_url" in json.dumps(seen.body["messages"])
        return planning_wire.fails(400, "no pictures") if has_picture else known(seen)

    known, planning_wire.respond = planning_wire.respond, respond
    agent = planning_agent("react+plan_first", native_inputs=("image",))
    outcome, transcript = evaluate(agent, task)
    assert outcome.final_answer == "2"
    assert transcript.plan.draft.text == STEPS
    assert planning_wire.asked() == {"draft": 2, "work": 2}
