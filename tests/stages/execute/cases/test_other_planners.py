"""Planning cases answered by programs and by systems that ran elsewhere."""

import json
from pathlib import Path

import pytest

from taskdata.errors import Misuse
from taskdata.schema.agent import AgentSpec
from taskdata.schema.run import OutcomeStatus
from tests.price_cases import CHAIN, SECRET, case, efficiency, unsolvable

ANSWER = {"tool_chain": [one.model_dump() for one in CHAIN]}


def _program(script: str) -> AgentSpec:
    return AgentSpec(harness="command", label="mine", command=("/bin/sh", "-c", script))


def _imported(place: Path) -> AgentSpec:
    return AgentSpec(harness="import", label="elsewhere", results=str(place))


@pytest.fixture
def lines(tmp_path: Path):
    """Write predictions as JSON lines; returns the agent that imports them."""

    def write(*predictions: object) -> AgentSpec:
        place = tmp_path / "predictions.jsonl"
        texts = [one if isinstance(one, str) else json.dumps(one) for one in predictions]
        place.write_text("\n".join(texts) + "\n", encoding="utf-8")
        return _imported(place)

    return write


def test_a_program_finds_the_case_as_a_file_and_leaves_a_plan(evaluate) -> None:
    script = "cat TASK.md CASE.json; cat > output/plan.json <<'END'\n" + json.dumps(ANSWER)
    outcome, transcript = evaluate(_program(f"{script}\nEND"), efficiency())

    assert (outcome.status, outcome.prompt_version) == (OutcomeStatus.FINISHED, "command_case_v1")
    assert transcript.predicted_plan.chain == CHAIN
    told = " ".join(event.text for event in transcript.events)
    assert '"counts_cost": true' in told
    assert "premium_price" in told
    assert not [word for word in (SECRET, "trap", "composite", "optimum") if word in told]


@pytest.mark.parametrize(
    ("script", "fault"),
    [("echo '{}' > output/plan.json", "no tool calls"), ("echo 'the plan' > output/plan.json", "")],
)
def test_what_a_program_wrote_and_cannot_be_read_is_a_fault(evaluate, script, fault) -> None:
    _, transcript = evaluate(_program(script), case())

    assert transcript.predicted_plan.fault
    assert fault in transcript.predicted_plan.fault


def test_a_program_that_leaves_no_plan_has_answered_nothing(evaluate) -> None:
    outcome, transcript = evaluate(_program("echo done > output/final.txt"), case())

    assert (outcome.status, transcript.predicted_plan) == (OutcomeStatus.FINISHED, None)


def test_predictions_are_taken_from_json_lines_by_case(lines, evaluate) -> None:
    agent = lines(
        {"case": "unsolvable-missing-information", "refusal": "Which lamp?"},
        {"case": "lamp-and-desk", **ANSWER},
    )

    outcome, planned = evaluate(agent, case())
    _, refused = evaluate(agent, unsolvable())

    assert planned.predicted_plan.chain == CHAIN
    assert refused.predicted_plan.refusal == "Which lamp?"
    assert planned.is_outcome_only
    assert outcome.usage is None


def test_a_prediction_that_cannot_be_read_is_a_fault_and_a_missing_one_an_error(
    lines, evaluate
) -> None:
    agent = lines({"case": "lamp-and-desk", "answer": 150})

    _, unread = evaluate(agent, case())
    missing, _ = evaluate(agent, unsolvable())

    assert "no tool calls" in unread.predicted_plan.fault
    assert missing.status is OutcomeStatus.INFRASTRUCTURE
    assert "no result for this task" in missing.error


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ("[1]", "line 1: expected an object"),
        ('{"case": 7}', "line 1: expected an object"),
        ('{"case": "a"}\n{"case": "a"}', "line 2: case 'a' occurs twice"),
        ("{no json", "line 1"),
    ],
)
def test_a_file_of_predictions_that_is_wrong_names_the_line(lines, evaluate, wrong, says) -> None:
    outcome, _ = evaluate(lines(wrong), case())

    assert outcome.status is OutcomeStatus.INFRASTRUCTURE
    assert says in outcome.error


def test_predictions_of_plans_are_no_results_of_work(lines, evaluate, task) -> None:
    outcome, _ = evaluate(lines({"case": task.id, **ANSWER}), task)

    assert "predictions of planning cases" in outcome.error


def test_a_folder_of_results_answers_with_its_final_texts(tmp_path, evaluate) -> None:
    (tmp_path / "results" / "lamp-and-desk").mkdir(parents=True)
    (tmp_path / "results" / "lamp-and-desk" / "final.txt").write_text(json.dumps(ANSWER))

    _, transcript = evaluate(_imported(tmp_path / "results"), case())

    assert transcript.predicted_plan.chain == CHAIN


def test_other_files_are_no_predictions(tmp_path) -> None:
    from stages.execute.imported.taking import require_results

    place = tmp_path / "predictions.csv"
    place.write_text("a")
    with pytest.raises(Misuse, match="jsonl"):
        require_results(_imported(place))
