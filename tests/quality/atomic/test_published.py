"""Small cases of the published metrics and of the mended ones, with similarities made here."""

import json

import numpy as np
import pytest

from quality.atomic.predictions import end_to_end_score, step_counts
from quality.atomic.published import (
    end_to_end_metrics,
    mended_end_to_end,
    mended_steps,
    step_metrics,
)
from quality.encoders.encoder import Similarity
from taskdata.errors import BadTaskData
from taskdata.formats.gta.predictions import PredictedTask

OBJECTIVE = {"whitelist": [["7"]], "blacklist": None}


class Letters:
    """Texts are alike as far as they have the same letters."""

    name = "letters"

    def encode(self, texts):
        rows = [[text.count(chr(n)) for n in range(32, 127)] for text in texts]
        vectors = np.array(rows, dtype=np.float32)
        return vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1)


def call(tool, error=False, **arguments):
    function = {"name": tool, "arguments": arguments}
    message = {"role": "assistant", "tool_calls": [{"type": "function", "function": function}]}
    return message | ({"error": {"type": "API_ERROR"}} if error else {})


def say(text, **more):
    return {"role": "assistant", "content": text, **more}


def task(predicted, reference, answer=None, key="0"):
    return PredictedTask(key, predicted, reference, answer)


def traced(*tasks, similarity=True):
    compare = Similarity(Letters()) if similarity else None
    scores = [end_to_end_score(one, compare) for one in tasks]
    return end_to_end_metrics(scores), mended_end_to_end(scores)


def stepped(*tasks):
    counts = [step_counts(one, Similarity(Letters())) for one in tasks]
    return step_metrics(counts), mended_steps(counts)


def test_a_perfect_trace_stays_just_below_100_and_mended_is_100():
    trace = [call("Solver", command="1"), say("7")]
    published, mended = traced(task(trace, trace, OBJECTIVE))
    assert published.l_f1 == pytest.approx(99.999000005)
    assert mended.l_f1_mended == 100
    assert published.answer_acc == mended.answer_acc_mended == 100


def test_one_call_meets_two_of_the_reference_and_mended_only_one():
    gold = [call("Solver"), call("Solver"), say("7")]
    published, mended = traced(task([call("Solver"), say("7")], gold, OBJECTIVE))
    assert published.l_f1 == pytest.approx(133.33244444592594)
    assert mended.l_f1_mended == pytest.approx(200 / 3)


def test_a_faulty_call_counts_as_found_but_is_no_match():
    gold, trace = [call("OCR"), say("7")], [call("OCR", error=True), say("7")]
    published, mended = traced(task(trace, gold, OBJECTIVE))
    assert (published.p_f1, mended.p_f1_mended) == (pytest.approx(99.999000005), 0)
    assert (published.tool_call, published.tool_call_error) == (1, 1)


def test_counts_run_over_the_set_and_names_match_within_a_task_alone():
    other = task([call("OCR"), say("8")], [call("Calculator"), say("7")], OBJECTIVE, "1")
    one = task([call("Calculator"), say("7")], [call("OCR"), say("7")], OBJECTIVE)
    published, _ = traced(one, other)
    assert (published.p_f1, published.l_f1, published.answer_acc) == (0, 0, 50)


def test_a_category_without_calls_is_0_as_published_and_nothing_mended():
    trace = [call("Solver"), say("7")]
    published, mended = traced(task(trace, trace, OBJECTIVE))
    assert (published.c_f1, mended.c_f1_mended) == (0, None)


def test_a_tool_beyond_the_fourteen_counts_among_the_calls_alone():
    trace = [call("NoAction", err_msg="x"), call("Solver"), say("7")]
    published, _ = traced(task(trace, [call("Solver"), say("7")], OBJECTIVE))
    assert published.tool_call == 2
    assert published.l_f1 == pytest.approx(99.999000005)


def test_only_the_last_message_is_the_answer():
    gold = [call("Solver"), say("7")]
    published, _ = traced(task([say("7"), call("Solver")], gold, OBJECTIVE))
    assert published.answer_acc == 0
    published, _ = traced(task([say("7"), {"role": "tool", "content": []}], gold, OBJECTIVE))
    assert published.answer_acc == 0
    published, _ = traced(task([say("7", error={"type": "INVALID"})], gold, OBJECTIVE))
    assert published.answer_acc == 100


def test_an_image_task_takes_the_last_faultless_call_and_json_with_keys_as_given():
    gold = [call("AddText", text="ab", color="c")]
    same = task([call("AddText", color="c", text="ab")], gold)
    last = task([call("AddText", text="ab", color="c"), call("AddText", text="zz")], gold)
    faulty = task([*last.predicted, call("AddText", error=True, text="q")], gold)
    published, mended = traced(same)
    assert 0 < published.answer_acc_w_imggen <= 100.0001
    assert mended.answer_acc_w_imggen_mended == pytest.approx(100)
    assert published.answer_acc == 0
    (lost, kept), (third, _) = traced(last), traced(faulty)
    assert lost.answer_acc_w_imggen < 90
    assert kept.answer_acc_w_imggen_mended == pytest.approx(100)
    assert third.answer_acc_w_imggen == lost.answer_acc_w_imggen


def test_an_image_task_multiplies_the_calls_of_its_reference():
    gold = [call("Plot", command="a"), call("DrawBox", bbox="b")]
    only_one, _ = traced(task([call("Plot", command="a")], gold))
    both, _ = traced(task(gold, gold))
    assert only_one.answer_acc_w_imggen == 0
    assert both.answer_acc_w_imggen == pytest.approx(100)


def test_an_image_task_without_image_calls_in_its_reference_is_1_and_says_nothing_mended():
    published, mended = traced(task([say("here")], [call("OCR"), say("here")]))
    assert published.answer_acc_w_imggen == 100
    assert mended.answer_acc_w_imggen_mended is None


def test_a_subjective_answer_is_as_good_as_the_closest_reference():
    references = ["zzz", "abc", "qqq"]
    published, mended = traced(task([say("cab")], [say("abc")], references))
    assert published.answer_acc == pytest.approx(100)
    assert mended.answer_acc_mended <= 100
    published, _ = traced(task([say("xyy")], [say("abc")], references))
    assert published.answer_acc == 0


def test_an_encoder_is_named_where_it_had_a_part_alone():
    subjective = ["a", "b", "c"]
    said = end_to_end_score(task([say("a")], [say("a")], subjective), Similarity(Letters()))
    silent = end_to_end_score(task([say("")], [say("a")], subjective), Similarity(Letters()))
    objective = end_to_end_score(task([say("7")], [say("7")], OBJECTIVE), Similarity(Letters()))
    assert (said.encoder, silent.encoder, objective.encoder) == ("letters", None, None)
    assert (silent.score, silent.score_mended) == (0, 0)


def test_without_an_encoder_what_needs_one_is_unscored_and_the_rest_stands():
    subjective = task([call("OCR"), say("abc")], [call("OCR"), say("abc")], ["a", "b", "c"])
    objective = task([say("7")], [say("7")], OBJECTIVE, "1")
    published, mended = traced(subjective, objective, similarity=False)
    assert published.answer_acc is None
    assert published.answer_acc_w_imggen is None
    assert mended.answer_acc_mended is None
    assert published.p_f1 == pytest.approx(99.999000005)


def test_an_alias_with_a_symbol_is_found_by_the_mended_rule():
    reference = {"whitelist": [["$9"]], "blacklist": [["C#"]]}
    published, mended = traced(task([say("Fee: $9")], [say("$9")], reference))
    assert (published.answer_acc, mended.answer_acc_mended) == (0, 100)
    _, mended = traced(task([say("Fee: $95")], [say("$9")], reference))
    assert mended.answer_acc_mended == 0
    _, mended = traced(task([say("$9 in C# minor")], [say("$9")], reference))
    assert mended.answer_acc_mended == 0


def test_an_empty_group_of_the_blacklist_forbids_every_word_and_nothing_mended():
    reference = {"whitelist": [["word"]], "blacklist": [[]]}
    published, mended = traced(task([say("word")], [say("word")], reference))
    assert (published.answer_acc, mended.answer_acc_mended) == (0, 100)


def test_the_blacklist_is_one_list_of_aliases():
    reference = {"whitelist": [["word"]], "blacklist": [[], ["bad"]]}
    published, _ = traced(task([say("word")], [say("word")], reference))
    assert published.answer_acc == 100


def test_arguments_are_equal_by_value_and_a_text_is_no_mapping():
    gold = [call("OCR", k=2, q="a"), say("7")]
    same = task([call("OCR", q="a", k=2.0), say("7")], gold, OBJECTIVE)
    written = json.loads(json.dumps(gold))
    function = written[0]["tool_calls"][0]["function"]
    function["arguments"] = json.dumps(function["arguments"])
    as_text = task(written, gold, OBJECTIVE, "1")
    published, _ = stepped(same, as_text)
    assert (published.tool_acc, published.arg_acc) == (100, 50)


def test_an_error_costs_alignment_alone():
    gold = [call("Solver", command="1"), say("7")]
    trace = [call("Solver", error=True, command="1"), say("7")]
    published, _ = stepped(task(trace, gold, OBJECTIVE))
    assert (published.inst_align, published.tool_acc, published.arg_acc) == (50, 100, 100)
    assert (published.answer_acc, published.tool_call_error) == (100, 1)


def test_answers_of_image_tasks_let_alignment_pass_100_and_mended_not():
    image = task([call("AddText"), say("done")], [call("AddText"), say("ok")], key="1")
    text = task([call("OCR"), say("7")], [call("OCR"), say("7")], OBJECTIVE)
    published, mended = stepped(image, text)
    assert published.inst_align == pytest.approx(400 / 3)
    assert mended.inst_align_mended == 100


def test_steps_without_a_prediction_are_left_out_as_published_and_wrong_mended():
    gold = [call("OCR"), call("Solver"), say("7")]
    published, mended = stepped(task([call("OCR")], gold, OBJECTIVE))
    assert (published.tool_acc, mended.tool_acc_mended) == (100, 50)
    assert mended.inst_align_mended == pytest.approx(100 / 3)


@pytest.mark.parametrize(
    ("predicted", "reference", "answer", "says"),
    [
        ([], [say("7")], OBJECTIVE, "without messages"),
        ([{"content": "7"}], [say("7")], OBJECTIVE, "neither tool_calls nor a role"),
        ([{"tool_calls": []}], [say("7")], OBJECTIVE, "begins with a call"),
        ([say(7)], [say("7")], OBJECTIVE, "must be a text"),
        ([say("7")], [say("7")], {"whitelist": [["7"]]}, "has no blacklist"),
        ([say("7")], [say("7")], {"whitelist": None, "blacklist": None}, "whitelist must be"),
        ([say("7")], [call("Prover"), say("7")], OBJECTIVE, "'Prover', which is none of the"),
    ],
)
def test_where_the_published_scorer_crashes_the_task_and_the_reason_are_named(
    predicted, reference, answer, says
):
    with pytest.raises(BadTaskData, match=says) as caught:
        traced(task(predicted, reference, answer, key="17"))
    assert "task 17" in str(caught.value)


def test_shares_of_nothing_are_errors_that_say_what_is_missing():
    image = task([call("AddText")], [call("AddText")])
    with pytest.raises(BadTaskData, match="gt_answer to compare a text with"):
        stepped(image)
    with pytest.raises(BadTaskData, match="none of the tasks has a tool step"):
        stepped(task([say("7")], [say("7")], OBJECTIVE))
    with pytest.raises(BadTaskData, match="no task"):
        traced()
