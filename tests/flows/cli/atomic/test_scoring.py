"""`nightshift score-atomic`: what people and programs are told, in each layout of files."""

import json

import numpy as np
import pytest

from flows.cli.atomic.scoring import score_atomic
from taskdata.errors import BadTaskData, Misuse
from taskdata.formats.gta.predictions import read_predictions


def call(tool, **arguments):
    function = {"name": tool, "arguments": arguments}
    return {"role": "assistant", "tool_calls": [{"type": "function", "function": function}]}


def say(text):
    return {"role": "assistant", "content": text}


def dialog(*messages):
    return [{"role": "user", "content": "How much?"}, *messages]


ANSWER = {"whitelist": [["7"]], "blacklist": None}
TASKS = {
    "0": {"dialogs": dialog(call("OCR", image="a.png"), say("7")), "gt_answer": ANSWER},
    "1": {"dialogs": dialog(call("Calculator", expression="3+4"), say("7")), "gt_answer": ANSWER},
}
TRACES = {"0": [call("OCR", image="a.png"), say("7")], "1": [call("OCR"), say("8")]}


@pytest.fixture
def files(tmp_path, monkeypatch):
    """Return a function that writes a data set and predictions, and the command's options."""
    monkeypatch.setenv("NIGHTSHIFT_HOME", str(tmp_path / "home"))

    def write(predictions, tasks=TASKS):
        (tmp_path / "dataset.json").write_text(json.dumps(tasks))
        path = tmp_path / "predictions.json"
        path.write_text(json.dumps(predictions))
        return tmp_path, path

    return write


def told(capsys, files, predictions, mode="end-to-end"):
    score_atomic(*files(predictions), mode, as_json=True)
    return json.loads(capsys.readouterr().out)


BENCHMARK = {
    key: {"prediction": [trace], "gold": [TASKS[key]["dialogs"][1:]], "origin_prompt": ["x"]}
    for key, trace in TRACES.items()
}
LAYOUTS = {
    "by task": TRACES,
    "a list": list(TRACES.values()),
    "by mode": {"every": TRACES, "every_with_gt": TRACES},
    "the benchmark's": BENCHMARK,
    "by turn": {key: [trace] for key, trace in TRACES.items()},
    "with its tasks": {"tasks": TASKS, "predictions": {"every": TRACES}},
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_layout_of_predictions_gives_the_same_numbers(capsys, files, layout):
    report = told(capsys, files, LAYOUTS[layout])
    assert (report["tasks"], report["encoder"], report["unscored"]) == (2, None, None)
    assert report["metrics"]["answer_acc"] == 50
    assert report["metrics"]["tool_call"] == 2
    assert report["mended"]["p_f1_mended"] == pytest.approx(200 / 3)
    assert report["per_task"]["1"]["answer_acc"] == 0


def test_the_reference_beside_the_predictions_is_the_one_that_is_compared(capsys, files):
    """The benchmark makes the paths in it absolute, as those that the model was told."""
    steps = [call("OCR", image="/data/a.png"), say("7")]
    predictions = {"0": {"prediction": steps, "gold": steps}}
    report = told(capsys, files, predictions, "step-by-step")
    assert report["metrics"]["arg_acc"] == 100
    assert report["without_prediction"] == ["1"]


def test_people_get_published_and_mended_numbers_side_by_side(capsys, files):
    score_atomic(*files(TRACES), "step-by-step")
    shown = capsys.readouterr().out
    assert "step-by-step, 2 tasks" in shown
    assert any(
        line.split() == ["inst_align", "100.0000", "100.0000"] for line in shown.splitlines()
    )


def test_without_an_encoder_metrics_of_meaning_are_null_and_a_line_says_how_to_get_it(
    capsys, files, monkeypatch
):
    monkeypatch.setattr("quality.encoders.choosing.closest_to_published", lambda *_: None)
    tasks = TASKS | {"2": {"dialogs": dialog(say("ok")), "gt_answer": ["a", "b", "c"]}}
    score_atomic(*files(TRACES | {"2": [say("ok")]}, tasks), "end-to-end", as_json=True)
    shown = capsys.readouterr()
    report = json.loads(shown.out)
    assert report["metrics"]["answer_acc"] is None
    assert report["metrics"]["p_f1"] > 0
    assert "all-mpnet-base-v2 is not installed; run `make setup-all`" in report["unscored"]
    assert report["unscored"] in " ".join(shown.err.split())


def test_another_encoder_than_the_published_is_named_beside_its_numbers(capsys, files, monkeypatch):
    class Same:
        name = "same"

        def encode(self, texts):
            return np.ones((len(texts), 1), dtype=np.float32)

    monkeypatch.setattr("quality.encoders.choosing.find_encoder", lambda *_: Same())
    tasks = {"0": {"dialogs": dialog(say("ok")), "gt_answer": ["a", "b", "c"]}}
    score_atomic(*files({"0": [say("ok")]}, tasks), "end-to-end", encoder="same")
    shown = capsys.readouterr()
    assert "answer_acc 100.0000 100.0000" in " ".join(shown.out.split())
    assert "Similarities of texts are those of same." in shown.out
    assert "published ones are of all-mpnet-base-v2" in shown.err


def test_a_task_alone_that_has_no_metrics_says_why(capsys, files):
    tasks = TASKS | {"2": {"dialogs": dialog(call("AddText"), say("ok")), "gt_answer": None}}
    predictions = TRACES | {"2": [call("AddText"), say("ok")]}
    score_atomic(*files(predictions, tasks), "step-by-step", as_json=True)
    report = json.loads(capsys.readouterr().out)
    assert "gt_answer to compare a text with" in report["per_task"]["2"]["error"]
    assert report["metrics"]["tool_call"] == 3


@pytest.mark.parametrize(
    ("predictions", "says"),
    [
        ({"9": TRACES["0"]}, "task '9' is not in"),
        ({"0": "7"}, "must be a list of messages"),
        ({"0": {"gold": []}}, "has no prediction"),
        ([[], [], []], "3 predictions for 2 tasks"),
        ("7", "expected predictions"),
        ({"every_with_gt": TRACES}, "no predictions of mode 'every'"),
    ],
)
def test_what_is_no_prediction_file_is_refused_with_its_place(files, predictions, says):
    with pytest.raises(BadTaskData, match=says):
        read_predictions(*files(predictions), "end-to-end")


def test_files_that_cannot_be_read_are_refused(files, tmp_path):
    dataset, path = files(TRACES)
    path.write_text("{")
    with pytest.raises(BadTaskData, match="not JSON"):
        read_predictions(dataset, path, "end-to-end")
    with pytest.raises(Misuse, match="cannot be read"):
        read_predictions(dataset, tmp_path / "none.json", "end-to-end")
    with pytest.raises(Misuse, match="end-to-end and step-by-step"):
        read_predictions(dataset, path, "both")


def test_a_crash_of_the_published_scorer_is_one_line_and_exit_code_2(command, files):
    image = {"0": {"dialogs": dialog(call("AddText")), "gt_answer": None}}
    dataset, path = files({"0": [call("AddText")]}, image)
    done = command(
        "score-atomic", "--dataset", str(dataset), "--predictions", str(path),
        "--mode", "step-by-step",
    )  # fmt: skip
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith("error: none of the tasks has a gt_answer")
    assert len(done.stderr.splitlines()) == 1
