"""What is kept of a run."""

from datetime import UTC, datetime

from quality.history import night_of
from taskdata.schema.agent import AgentSpec
from taskdata.schema.gate import GateResult
from taskdata.schema.run import Run, RunConfig, RunStatus
from taskdata.schema.scores import Unscored
from taskdata.schema.tool_use import ToolUse

REACT = "react:openai/gpt-5.2"
START = datetime(2026, 3, 1, 2, tzinfo=UTC)
END = datetime(2026, 3, 1, 5, tzinfo=UTC)


def run(*agents, **config):
    specs = [a if isinstance(a, AgentSpec) else AgentSpec.parse(a) for a in agents or (REACT,)]
    return Run(
        id="r1",
        status=RunStatus.RUNNING,
        config=RunConfig(agents=specs, **config),
        release_hash="b" * 64,
        code_version="test",
        created_at=START,
    )


def leaves(score, tone=None):
    return {"totals": score, "sheets": score, "answer": score, "tone": tone}


def test_a_cell_has_the_first_attempts_of_an_agent_on_a_task(make_task, make_result):
    task = make_task()
    results = [
        make_result(task=task, leaves=leaves(8.0), cost_usd=0.5, turns=4, wall_seconds=10.0),
        make_result(task=task, leaves=leaves(2.0), repetition=1, cost_usd=0.25, turns=2),
        make_result(task=task, repetition=2, error="model server is down"),
        make_result(task=task, leaves=leaves(10.0), round_=1, cost_usd=9.0),
    ]
    gate = GateResult(gate="tasks", run_id="r1", success=True, rows=1, expectations=1)
    night = night_of(
        run(), results, {task.content_hash: task}, [gate], cost_usd=1.5, finished_at=END
    )
    (cell,) = night.cells
    assert cell.scores == (8.0, 2.0, None)
    assert cell.successes == (True, False, None)
    assert (cell.errors, cell.cost_usd, cell.turns) == (1, 0.75, 3.0)
    assert cell.trial_ids == tuple(r.trial.id for r in results[:3])
    assert (night.cost_usd, night.wall_s, night.gates) == (1.5, 3 * 3600, {"tasks": True})
    assert night.error_causes == {"model server is down": 1}
    assert (night.tasks[0].leaves, night.tasks[0].deliverable_types) == (
        4,
        ("answer", "docx", "xlsx"),
    )


def test_tools_are_counted_over_the_trials_that_called_them(make_task, make_result):
    task = make_task()
    ocr = ToolUse(tool="OCR", category="perception", calls=3, errors={"refused": 2})
    once = ToolUse(tool="OCR", category="perception", calls=1)
    results = [
        with_tools(make_result(task=task), ocr),
        with_tools(make_result(task=task, repetition=1), once),
        make_result(task=task, repetition=2),
        with_tools(make_result(task=task, round_=1), ocr),
    ]
    (tool,) = night_of(run(), results, {task.content_hash: task}).tools
    assert (tool.tool, tool.category, tool.trials, tool.calls) == ("OCR", "perception", 2, 4)
    assert (tool.errors, tool.failed) == ({"refused": 2}, 2)


def with_tools(result, *uses):
    outcome = result.outcome.model_copy(update={"tool_uses": uses})
    return result.model_copy(update={"outcome": outcome})


def test_a_price_that_is_unknown_stays_unknown(make_task, make_result):
    task = make_task()
    results = [make_result(task=task, cost_usd=0.5), make_result(task=task, repetition=1)]
    assert night_of(run(), results, {task.content_hash: task}).cells[0].cost_usd is None


def test_what_no_verifier_was_configured_for_is_no_score_and_a_missing_verdict_counts_0(
    make_task, make_result
):
    tasks = [make_task("one"), make_task("two")]
    results = [
        make_result(task=tasks[0], leaves=leaves(None)),
        make_result(task=tasks[1], leaves=leaves(10.0, tone=Unscored.NO_VERDICT)),
    ]
    night = night_of(run(), results, {t.content_hash: t for t in tasks})
    assert [cell.scores for cell in night.cells] == [(None,), (7.5,)]
    assert night.cells[0].successes == (None,)


def test_where_results_are_imported_from_is_no_setting_of_their_agent():
    def settings(**fields):
        agent = AgentSpec(harness="import", label="manus", **fields)
        return night_of(run(agent), [], {}).settings.agents

    assert settings(results="/monday") == settings(results="/tuesday")
    assert settings(results="/monday") != settings(results="/monday", temperature=0.5)


def test_the_selection_and_the_tools_services_are_named():
    found = night_of(
        run(tasks=("a", "b"), sample=3, tool_model="openai/gpt-5.2", judge="openai/gpt-5.2"), [], {}
    ).settings
    assert found.selection == "tasks a, b; 3 of each category"
    assert found.tool_backends == "tool_model=openai/gpt-5.2"
    assert found.judge == "openai/gpt-5.2"


def test_a_night_keeps_its_clusters_without_their_many_trials(make_task, make_result):
    task = make_task()
    results = [
        make_result(task=task, error="no reply in 30 s"),
        make_result("nop", task=task, error="no reply in 40 s"),
    ]
    night = night_of(run(REACT, "nop"), results, {task.content_hash: task})
    (cluster,) = night.clusters
    assert (cluster.trials, cluster.agents) == (1, (REACT,))
    assert cluster.trial_ids == ()
