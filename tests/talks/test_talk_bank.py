"""A bank of two talks passes the gate and is scored by the rule `all_required`, end to end."""

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from examples.scripted_model.question import NotScripted
from examples.scripted_model.users import OPENING, is_talk, scripted_users, users_turn
from quality.gates import hold
from quality.suites.tasks import TaskRules, task_rows, tasks_suite
from stages.execute import work as executing
from stages.prepare.work import first_trial, require_usable
from stages.score import work as scoring
from stages.score.library import check_library
from taskdata.banks.loader import load_bank
from taskdata.schema.agent import AgentSpec
from taskdata.schema.run import Run, RunConfig, RunStatus
from tests.soak import at_length_only

BANK = Path(__file__).parent / "bank"
REFUND = {"order": "KX-2207", "article": "Kettle Arlo", "amount_eur": 44.91, "paid_as": "voucher"}


@pytest.fixture
def night(store, wire, monkeypatch, tmp_path: Path):
    """Let agents work on tasks of the bank and score them; returns results by agent and task."""
    monkeypatch.setenv("COMPATIBLE_API_KEY", "sk-canary-talk-bank")

    def run(*agents: str, tasks: tuple[str, ...] = ()):
        bank = load_bank(str(BANK), tasks)
        specs = [AgentSpec.parse(a, base_url=wire.openai_url if ":" in a else None) for a in agents]
        user = {"user": "compatible/users", "user_base_url": wire.openai_url}
        fields = {"bank": "talks", "agents": specs, **user}
        run = Run(
            id="run-1",
            status=RunStatus.RUNNING,
            config=RunConfig.model_validate(fields),
            release_hash=store.add_release("talks", bank.tasks, bank.files).hash,
            code_version="test",
            created_at=datetime.now(UTC),
        )
        store.add_run(run)
        for task in bank.tasks:
            require_usable(task)
        store.plan_trials(
            [
                first_trial(run.id, spec.name, task.content_hash, task, 0)
                for spec in specs
                for task in bank.tasks
            ]
        )
        executing.do(store, run.id, 0, tmp_path / "home")
        scoring.do(store, run.id, 0, tmp_path / "home")
        return {(r.trial.agent, r.trial.task_id): r for r in store.results(run.id)}

    return run


def behaviour(wire, note: dict):
    """An agent that asks for the order and the state before it writes, and its user."""

    def respond(seen):
        if is_talk(seen.body):
            return wire.says(users_turn(seen.body, scripted_users()))
        heard = json.dumps(seen.body["messages"][2:])
        if "KX-2207" not in heard:
            return wire.says("Which order was it?")
        if "Two months" not in heard:
            return wire.says("Has the kettle been used?")
        if "KX-2198" not in heard:
            return wire.says("", ("ReadCSV", {"path": "input/orders.csv"}))
        if "refund.json" not in heard:
            call = {"path": "output/refund.json", "content": json.dumps(note)}
            return wire.says("", ("write_file", call))
        return wire.says(f"The note is written: a voucher over {note['amount_eur']} EUR.")

    return respond


def test_the_tasks_are_sound_and_their_references_and_nobody_earn_what_they_should(night):
    tasks = load_bank(str(BANK)).tasks
    tools = {tool for task in tasks for tool in task.tools}
    rows = task_rows(tasks, tools)
    suite = tasks_suite(TaskRules(), tools, check_library())
    faults = {"misplaced_subcategory", "tools_named_to_user", "tools_named", "unknown_checks"}
    assert not faults & {failure.rule for failure in hold(suite, rows, "talks")[0].failures}
    low, high = TaskRules().workflow_leaves
    for row in rows:
        assert low <= row["leaves"] <= high
        assert row["checkable_share"] == 1
    found = night("reference", "nop")
    scores = {key: result.root_score for key, result in found.items()}
    assert scores == {
        (agent, task.id): score
        for agent, score in (("reference", 10), ("nop", 0))
        for task in tasks
    }


@pytest.mark.parametrize(
    ("note", "score"),
    [
        (REFUND | {"amount_eur": 49.9}, 0),
        pytest.param(REFUND, 10, marks=at_length_only),
    ],
)
def test_a_talk_is_scored_by_all_its_criteria(night, wire, note, score):
    wire.respond = behaviour(wire, note)
    name = "function_calling:compatible/agent"
    result = night(name, tasks=("kettle-refund",))[name, "kettle-refund"]
    assert (result.outcome.ending, result.root_score) == ("finished", score)
    assert result.talking.calls == 3
    failed = {leaf.leaf_id for leaf in result.score.leaves if leaf.score == 0}
    assert failed == (set() if score else {"amount", "told"})


def test_a_user_that_no_script_plays_is_refused():
    body = {"messages": [{"role": "system", "content": f"{OPENING} for work."}]}
    assert is_talk(body)
    with pytest.raises(NotScripted, match="no script plays the user"):
        users_turn(body, scripted_users())
    assert not is_talk({"messages": "none"})
