"""The numbers of GTA's published scorer, where a sample of them lies beside the repository."""

import json
from pathlib import Path
from typing import Any

import pytest

from quality.atomic.answers import is_right
from quality.atomic.step_by_step import score_steps, step_accuracy
from taskdata.schema.scores import StepScore
from taskdata.schema.task import (
    Answer,
    ImageGenerationAnswer,
    ObjectiveAnswer,
    ReferenceSolution,
    ReferenceStep,
    SubjectiveAnswer,
)
from taskdata.schema.transcript import Prediction, ToolCall

SAMPLE = Path(__file__).parents[4] / "shared" / "data" / "gta_atomic_parity_sample.json"
MODE = "every_with_gt"

pytestmark = pytest.mark.skipif(not SAMPLE.exists(), reason=f"{SAMPLE} is not here")


@pytest.fixture(scope="module")
def sample() -> dict[str, Any]:
    return json.loads(SAMPLE.read_text(encoding="utf-8"))


def answer_of(raw: Any) -> Answer:
    if isinstance(raw, dict):
        groups = {name: raw[name] or () for name in ("whitelist", "blacklist")}
        # The scorer also takes an empty whitelist, which a task of ours cannot have.
        return ObjectiveAnswer.model_construct(**groups)
    return SubjectiveAnswer(references=raw) if raw else ImageGenerationAnswer()


def function_of(message: dict[str, Any]) -> dict[str, Any]:
    return message["tool_calls"][0]["function"]


def prediction_of(message: dict[str, Any]) -> Prediction:
    error = "wrong" if "error" in message else None
    if "tool_calls" not in message:
        return Prediction(answer=message.get("content", ""), error=error)
    function = function_of(message)
    arguments = function["arguments"]
    readable = arguments if isinstance(arguments, dict) else None
    call = ToolCall(id="1", tool=function["name"], arguments=readable, raw=str(arguments))
    return Prediction(call=call, error=error)


def marked(gold: list, predicted: list, answer: Any) -> StepScore:
    said = [message for message in gold if message["role"] == "assistant"]
    called = [function_of(message) for message in said if "tool_calls" in message]
    steps = tuple(ReferenceStep(tool=f["name"], arguments=f["arguments"]) for f in called)
    assert all("tool_calls" in message for message in said[: len(steps)])
    predictions = [prediction_of(message) for message in predicted]
    return score_steps(
        predictions, ReferenceSolution(steps=steps, final_answer=""), answer_of(answer)
    )


def scores_of(sample: dict[str, Any], indexes: list[int]) -> list[tuple[str, StepScore]]:
    found = []
    for index in indexes:
        task = sample["tasks"][str(index)]
        predicted = sample["predictions"][MODE][str(index)]
        found.append((str(index), marked(task["dialogs"], predicted, task["gt_answer"])))
    return found


def subjective_sum(sample: dict[str, Any], indexes: list[int]) -> float:
    """What similarities contribute to the published sum of answer scores, which we leave out."""
    alone = [sample["per_task"][str(index)][MODE] for index in indexes]
    kinds = [sample["tasks"][str(index)]["gt_answer"] for index in indexes]
    return sum(
        one["answer_acc"] / 100
        for one, answer in zip(alone, kinds, strict=True)
        if isinstance(answer, list) and answer and "answer_acc" in one
    )


def test_every_subset_has_the_published_accuracies(sample):
    compared = 0
    for name, subset in sample["subsets"].items():
        expected = subset["expected"][MODE]
        if "error" in expected:
            continue  # the scorer divides by the number of answers, and there are none
        found = step_accuracy(scores_of(sample, subset["indexes"]))
        for ours, theirs in (
            (found.inst_acc.mean, "inst_align"),
            (found.tool_acc.mean, "tool_acc"),
            (found.arg_acc.mean, "arg_acc"),
        ):
            assert 100 * ours == pytest.approx(expected[theirs], abs=1e-3), (name, theirs)
        assert found.predicted_calls == expected["tool_call"]
        assert found.predicted_errors == expected["tool_call_error"]
        compared += 1
    assert compared > 5


def test_right_answers_are_those_of_the_published_sum(sample):
    compared = 0
    for subset in sample["subsets"].values():
        expected, indexes = subset["expected"][MODE], subset["indexes"]
        missing = any("error" in sample["per_task"][str(i)][MODE] for i in indexes)
        if "error" in expected or missing:
            continue  # what similarities contribute cannot be told task by task
        found = step_accuracy(scores_of(sample, indexes))
        objective = (found.summ_acc.mean or 0) * (found.answers - found.answers_unscored)
        published = expected["answer_acc"] / 100 * found.answers
        assert objective == pytest.approx(published - subjective_sum(sample, indexes), abs=1e-4)
        compared += 1
    assert compared > 0


def test_every_answer_is_right_where_the_scorer_says_so(sample):
    for case in sample["answer_cases"]:
        assert is_right(case["answer"], answer_of(case["reference"])) is case["correct"], case


def test_the_scorers_special_cases(sample):
    for case in sample["scorer_cases"]:
        if case["mode"] != MODE:
            continue
        rows = zip(case["gold"], case["predictions"], case["references"], strict=True)
        found = step_accuracy([("t", marked(*row)) for row in rows])
        expected = case["expected"]
        if "error" in expected:
            assert found.summ_acc.mean is None
            continue
        assert 100 * found.inst_acc.mean == pytest.approx(expected["inst_align"])
        assert 100 * found.arg_acc.mean == pytest.approx(expected["arg_acc"])
        assert 100 * found.summ_acc.mean == pytest.approx(expected["answer_acc"])
