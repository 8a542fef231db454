"""Imported results as trials: planned, recorded, scored and counted like any other."""

import pytest

from quality.summary import summarise
from stages.diagnose import work as diagnosing
from stages.execute import work as executing
from stages.prepare import work as preparing
from stages.score import work as scoring
from taskdata.errors import Misuse
from taskdata.schema.agent import AgentSpec
from taskdata.schema.checkpoint import Checkpoint, ToolResultCheck
from taskdata.schema.diagnosis import FailureStage
from taskdata.schema.run import OutcomeStatus

RIGHT = b'{"sum": 5, "difference": 1, "product": 6}'


@pytest.fixture
def night(store, new_run, tmp_path):
    """Plan, execute, score and diagnose a run of these agents; returns its summary."""

    def go(*tasks, agents, **config):
        run = new_run(*tasks, agents=agents, **config)
        preparing.do(store, run.id)
        return again(run)

    def again(run):
        executing.do(store, run.id, 0, tmp_path)
        scoring.do(store, run.id, 0)
        diagnosing.do(store, run.id, 0)
        return summarise(run, store.results(run.id), store.tasks_of_run(run.id))

    go.again = again
    return go


def result_of(store, summary):
    (result,) = store.results(summary.run.id)
    return result


def test_a_result_is_scored_with_what_it_is_stated_to_have_taken(night, put, manus, task, store):
    put(task.id, meta={"seconds": 90, "cost_usd": 0.5, "turns": 8}, out=RIGHT)
    summary = night(task, agents=(manus,))
    (found,) = summary.agents
    assert (found.agent, found.root_score.mean, found.root_sr) == ("manus", 10.0, 1.0)
    assert (found.wall_s, found.cost_usd, found.turns, found.score_per_usd) == (90, 0.5, 8, 20)
    assert (found.tool_sr, found.tokens) == (None, None)
    outcome = result_of(store, summary).outcome
    assert (outcome.status, outcome.final_answer, outcome.sandbox) == ("finished", "5", "none")
    assert outcome.usage is None
    transcript = store.transcript(outcome.trial_id)
    assert (transcript.events, transcript.is_outcome_only) == ((), True)


def test_effort_that_nobody_stated_is_null_everywhere(night, put, manus, task, store):
    put(task.id, out=RIGHT)
    (found,) = night(task, agents=(manus,)).agents
    unknown = (found.wall_s, found.cost_usd, found.turns, found.tool_sr, found.tokens)
    assert unknown == (None,) * 5
    assert found.score_per_usd is None
    assert found.root_score.mean == 10.0


def test_a_missing_result_is_no_score_and_can_be_added_later(night, put, manus, new_task, store):
    first, second = new_task("first"), new_task("second")
    put(first.id, out=RIGHT)
    summary = night(first, second, agents=(manus,))
    (found,) = summary.agents
    assert (found.trials, found.scored, found.errors) == (2, 1, 1)
    ((cause, count),) = found.error_causes.items()
    assert "no result for this task" in cause
    assert count == 1
    put(second.id, out=b"{}")
    (found,) = night.again(store.run(summary.run.id)).agents
    assert (found.scored, found.errors, found.root_score.mean) == (2, 0, 5.0)


def test_a_result_that_cannot_be_read_is_no_score(night, put, manus, task, store):
    put(task.id, meta="{")
    summary = night(task, agents=(manus,))
    outcome = result_of(store, summary).outcome
    assert outcome.status is OutcomeStatus.INFRASTRUCTURE
    assert "meta.json" in outcome.error
    assert summary.agents[0].scored == 0


def test_a_failure_is_never_blamed_on_work_that_nobody_saw(night, put, manus, task, store):
    put(task.id, out=b'{"sum": 4}')
    diagnosis = result_of(store, night(task, agents=(manus,))).diagnosis
    assert diagnosis.stage not in (None, FailureStage.PLAN, FailureStage.EXECUTE)
    assert "tool call" not in " ".join(diagnosis.evidence)


def test_a_leaf_about_tool_calls_is_unscored(night, put, manus, new_task, store):
    leaf = Checkpoint(
        id="looked",
        requirement="It was looked up.",
        verifier=ToolResultCheck(tools=("Calculator",), contains=("5",)),
    )
    tree = Checkpoint(id="root", requirement="All of it.", children=(leaf,))
    task = new_task(checkpoints=tree, deliverables=())
    put(task.id)
    score = result_of(store, night(task, agents=(manus,))).score
    assert (score.root.score, score.root.coverage) == (None, 0.0)
    assert "unknown" in score.leaves[0].reason


def test_one_result_is_one_trial_whatever_the_repetitions_of_others(night, put, manus, task, store):
    put(task.id, out=RIGHT)
    nop = AgentSpec.parse("nop")
    summary = night(task, agents=(manus, nop), repetitions=3)
    assert {agent.agent: agent.trials for agent in summary.agents} == {"manus": 1, "nop": 3}


def test_several_systems_stand_side_by_side(night, put, manus, task, tmp_path):
    put(task.id, out=RIGHT)
    (tmp_path / "other" / task.id).mkdir(parents=True)
    (tmp_path / "other" / task.id / "final.txt").write_text("no idea")
    other = AgentSpec(harness="import", label="kortix", results=str(tmp_path / "other"))
    summary = night(task, agents=(manus, other))
    assert [agent.root_score.mean for agent in summary.agents] == [10.0, 0.0]
    (pair,) = summary.comparisons
    assert (pair.first, pair.second, pair.difference.mean) == ("manus", "kortix", -10.0)


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"label": None}, "whose results"),
        ({"label": "nop"}, "a harness has this name"),
        ({"results": None}, "needs `results`"),
        ({"results": "/nowhere/at/all"}, "no results at /nowhere"),
        ({"results": __file__}, "neither a folder"),
        ({"harness": "nop"}, "only harness 'import'"),
    ],
)
def test_an_agent_that_does_not_name_its_results_is_refused_at_once(new_run, manus, changes, fault):
    run = new_run(agents=(manus.model_copy(update=changes),))
    with pytest.raises(Misuse, match=fault):
        preparing.require(run.config)
