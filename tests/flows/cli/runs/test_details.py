"""`results --detail`: the tables that the first screen has no room for."""

import pytest

from flows.cli.runs.details import write_detail
from flows.summaries import summary_of
from taskdata.schema.agent import AgentSpec
from taskdata.schema.atomic import AnswerKind, EndToEndScore, ToolMatch
from taskdata.schema.run import OutcomeStatus, TrialOutcome
from taskdata.schema.scores import LeafScore, NodeScore, TrialScore
from taskdata.schema.task import TaskEnvironment
from taskdata.schema.tool_use import ToolUse
from taskdata.schema.transcript import Ending, Usage

AGENT = "react:openai/gpt-5.2"


@pytest.fixture
def shown(store, new_run, new_task, plan_trial, capsys, monkeypatch):
    """What is shown of four tasks, the first of which failed and called a tool that is none."""
    from flows.cli import console

    monkeypatch.setattr(console.out, "_width", 160)
    excel = TaskEnvironment(servers=("excel",))
    tasks = [new_task(f"task-{n}", tier="atomic", environment=excel) for n in range(4)]
    run = new_run(*tasks, agents=(AgentSpec.parse(AGENT),))
    for number, task in enumerate(tasks):
        trial = plan_trial(run, task, agent=AGENT)
        fault = {"unknown_tool": 1} if number == 0 else {}
        store.record_outcome(
            TrialOutcome(
                trial_id=trial.id,
                attempt=1,
                status=OutcomeStatus.FINISHED,
                ending=Ending.FINISHED,
                usage=Usage(input_tokens=10, output_tokens=5),
                cost_usd=0.5,
                wall_seconds=2.0,
                turns=number + 1,
                tool_calls=2,
                tool_errors=len(fault),
                tool_uses=(ToolUse(tool="OCR", calls=2, errors=fault, overlong=0),),
                self_verification="none" if number == 0 else "looked",
                sandbox="bubblewrap",
                code_version="test",
                started_at=run.created_at,
                finished_at=run.created_at,
            )
        )
        score = 0.0 if number == 0 else 10.0
        beside = EndToEndScore(
            tools={"perception": ToolMatch(reference=1, found=1, predicted=2)},
            tool_calls=2,
            tool_errors=len(fault),
            kind=AnswerKind.SUBJECTIVE,
            score=score / 10,
            score_mended=score / 10,
            encoder="some-encoder",
        )
        leaves = tuple(
            NodeScore(
                id=leaf.id,
                requirement="x",
                weight=1,
                score=score,
                coverage=1,
                leaf=LeafScore(leaf_id=leaf.id, score=score, verifier="check:x@1", reason="x"),
            )
            for leaf in task.checkpoints.leaves()
        )
        root = NodeScore(
            id="root", requirement="x", weight=1, score=score, coverage=1, children=leaves,
            end_to_end=beside,
        )  # fmt: skip
        store.record_score(TrialScore(trial_id=trial.id, root=root, scorer_version="1"), ())
    write_detail(summary_of(store, run.id))
    return [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]


def below(shown, title):
    """The first row of the table with that title."""
    return shown[shown.index(title) + 3]


def test_each_table_has_its_figures_with_intervals(shown):
    assert below(shown, "Root SR above k").startswith(f"{AGENT} 75% (30 to 95)")
    # Below the title of a group stands its name; tasks here ask for a workbook or a text.
    assert below(shown, "By leaves of the tree").split()[1] == AGENT
    per_trial = below(shown, "Harness and model, per trial")
    assert per_trial.startswith("react openai/gpt-5.2 7.50 (0.00 to 10.00) 75% (30 to 95)")
    assert per_trial.endswith("2 (2 to 2) 0.500 (0.500 to 0.500) 15.00")
    assert below(shown, "Steps against success").startswith(f"{AGENT} 2.5 (0.4 to 4.6) 5 (5 to 5)")
    assert below(shown, "Runs of all tasks").startswith(f"{AGENT} 75.0% 1 1 75%")


def test_faults_and_thirds_by_turns_split_success(shown):
    faults = below(shown, "Faults of tool calls, and Root SR with and without")
    assert faults.startswith(f"{AGENT} wrong tool name 12%")
    assert "0% 100% (44 to 100)" in faults
    assert below(shown, "Root SR by thirds of the tasks, by turns").startswith(
        f"{AGENT} 2 easy 1.0 to 2.0 50%"
    )


def test_end_to_end_metrics_name_their_encoder(shown):
    row = below(shown, "End to end, atomic tier")
    assert row.startswith(f"{AGENT} 67% - - - 75% (0 to 100)")
    assert row.endswith("1 of 8 faulty")
    assert "Similarities of texts are those of some-encoder." in shown


def test_self_verification_has_a_row_for_each_level(shown):
    row = below(shown, "Self-verification, and Root SR by it")
    assert row.startswith(f"{AGENT} none 25%")
    assert "0%" in row


def test_a_server_has_a_row_with_turns_and_cost(shown):
    row = below(shown, "By MCP server, turns and cost per trial")
    assert row.startswith(f"excel {AGENT} 4 4 75%")
    assert "2.5 (" in row
    assert row.endswith("0.500 (0.500 to 0.500)")
