"""Replies that would end the work too early, and faults that are repeated."""

import pytest

from taskdata.schema.task import InputFile
from taskdata.schema.transcript import Ending
from tests.stages.execute.harnesses.voices import FunctionVoice, ReactVoice, errors

WRITE = {"path": "output/out.json", "content": "{}"}


@pytest.fixture(params=[ReactVoice, FunctionVoice], ids=["react", "function_calling"])
def voice(request):
    return request.param


def test_who_ends_with_a_file_missing_is_asked_and_may_go_on(wire, play, new_task, voice):
    wire.then(
        voice.answer(wire, "I will write the file."),
        voice.call(wire, "write_file", WRITE),
        voice.answer(wire, "Written."),
    )

    transcript = play(voice.agent, new_task())

    assert "output/out.json is not there" in voice.observed(wire.seen[1])
    assert (transcript.ending, transcript.final_answer) == (Ending.FINISHED, "Written.")
    assert errors(transcript) == [None]


def test_who_says_so_again_is_done(wire, play, new_task, voice):
    wire.then(voice.answer(wire, "No."), voice.call(wire, "list_files", {}))
    wire.respond = lambda seen: voice.answer(wire, "I cannot.")

    transcript = play(voice.agent, new_task())

    assert (transcript.final_answer, len(wire.seen)) == ("I cannot.", 3)


def test_who_has_delivered_or_calls_finish_is_not_asked(wire, play, new_task, voice):
    wire.then(voice.call(wire, "write_file", WRITE), voice.answer(wire, "Written."))
    assert play(voice.agent, new_task()).final_answer == "Written."
    wire.then(voice.call(wire, "finish", {"answer": "No."}))
    assert play(voice.agent, new_task()).final_answer == "No."
    assert len(wire.seen) == 3


def test_at_the_last_turn_nothing_is_asked(wire, play, new_task, voice):
    wire.then(voice.answer(wire, "No."))
    transcript = play(voice.agent, new_task(), max_turns=1)
    assert (transcript.ending, transcript.final_answer) == (Ending.FINISHED, "No.")


def test_a_correction_shows_a_step_that_works_in_this_task(wire, play, new_task, store):
    sha256 = store.artifacts.put_bytes(b"milk")
    files = tuple(InputFile(path=p, sha256=sha256, size_bytes=4) for p in ("a.png", "notes.txt"))
    wire.then(wire.says("I will do it."))
    wire.respond = lambda seen: wire.says("Final Answer: ok")

    play(ReactVoice.agent, new_task(files=files))
    told = ReactVoice.observed(wire.seen[1])
    assert 'Action: read_file\nAction Input: {"path": "input/notes.txt"}' in told

    example = told[told.index("Action: read_file") :].partition("\nor,")[0]
    wire.then(wire.says(example))
    assert errors(play(ReactVoice.agent, new_task(files=files))) == [None]


def test_without_a_text_file_the_example_lists_the_files(wire, play, task):
    wire.then(wire.says("I will do it."), wire.says("Final Answer: ok"))
    play(ReactVoice.agent, task)
    told = ReactVoice.observed(wire.seen[1])
    assert 'Action: list_files\nAction Input: {"path": "input"}' in told


def test_a_repeated_fault_is_answered_anew_and_then_ends_the_trial(wire, play, task):
    wire.respond = lambda seen: wire.says("I will do it.")

    transcript = play(ReactVoice.agent, task)

    assert (transcript.ending, len(wire.seen)) == (Ending.STUCK, 3)
    first, second = (ReactVoice.observed(seen) for seen in wire.seen[1:])
    assert first != second
    assert "Your reply began 'I will do it.'" in second
    cause = transcript.events[-1].text
    assert cause.startswith("The agent is stuck: 3 replies in a row had the same fault")
    assert "The reply has no Action and no Final Answer." in cause


def test_empty_replies_end_the_trial_as_well(wire, play, task):
    wire.respond = lambda seen: wire.says("")
    transcript = play(FunctionVoice.agent, task)
    assert (transcript.ending, len(wire.seen)) == (Ending.STUCK, 3)
    assert "The reply was empty." in transcript.events[-1].text


def test_other_faults_and_steps_between_begin_the_count_anew(wire, play, task):
    vague, half = wire.says("I will do it."), wire.says("Action: list_files")
    step = ReactVoice.call(wire, "list_files", {})
    wire.then(vague, vague, half, vague, vague, step, vague, vague)
    wire.respond = lambda seen: ReactVoice.answer(wire, "ok")

    assert play(ReactVoice.agent, task).final_answer == "ok"
