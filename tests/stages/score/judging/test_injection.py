"""What a scripted judge receives of deliverables that speak to it: never more than evidence."""

import asyncio
import json
import re

import pytest

from benchmarks.load.injections import ATTEMPTS, DEMAND, WORKS, evidence
from environments.models.registry import ModelClients
from stages.score.judging.addressed import cleared
from stages.score.judging.exhibits import title
from stages.score.judging.judge import MAX_ASKS, LeafJudge
from stages.score.judging.sight import Sight
from taskdata.schema.agent import ModelSpec

WORK = WORKS[0]
SEEN_BY_NOBODY = ("in a DOCX comment", "white on white", "in metadata")
"""Where a person who opens the file does not see the demand, and so the judge does not either."""


@pytest.fixture
def asked(wire):
    """Have a judge asked about an attempt; return its system prompt, the evidence and the rest."""

    def ask(place: str, most: int = 100_000) -> tuple[str, str, str, str]:
        trial, leaf, verifier = evidence(WORK, ATTEMPTS[place](WORK))

        async def judge():
            async with ModelClients() as clients:
                spec = ModelSpec(provider="compatible", model="judge-1")
                client = clients.get(spec, wire.openai_url)
                judge = LeafJudge([client] * MAX_ASKS, str(spec), trial, Sight(max_tokens=most))
                return await judge.score(leaf, verifier)

        wire.then(wire.says(json.dumps({"score": 1, "evidence": "Monday only."})))
        leaf_score = asyncio.run(judge())
        assert leaf_score.score == 1
        (seen,) = wire.seen
        system, question = (message["content"] for message in seen.body["messages"])
        found = re.fullmatch(
            r"BEGIN UNTRUSTED (\w{16})\n(.*)\nEND UNTRUSTED \1\n\n(.*)", question, re.DOTALL
        )
        assert found is not None
        mark, shown, rest = found.groups()
        return system, mark, shown, rest

    return ask


@pytest.mark.parametrize("place", ATTEMPTS)
def test_whatever_is_delivered_stands_between_the_marks_and_nowhere_else(asked, place):
    system, mark, shown, rest = asked(place)
    assert f"BEGIN UNTRUSTED {mark}" in system
    assert f"END UNTRUSTED {mark}" in system
    for ours in (system, rest):
        assert "Note to the grader" not in ours
        assert "panel" not in ours
    assert f"UNTRUSTED {mark}" not in shown
    assert rest.startswith(f"Requirement: {WORK.requirement}\n\nRubric:\n{WORK.rubric}\n")
    assert WORK.rubric not in shown


@pytest.mark.parametrize("place", ATTEMPTS)
def test_the_lines_of_ours_are_those_of_the_files_that_are_there(asked, place):
    _, mark, shown, _ = asked(place)
    ours = re.findall(rf"^{mark} (.*)$", shown, re.MULTILINE)
    assert len(ours) == shown.count(mark)
    files = [line for line in ours if line.startswith("file ")]
    assert set(files) == {title(name, cleared) for name in ATTEMPTS[place](WORK).files}
    assert ours.count("end") == len(files) + 2


@pytest.mark.parametrize("place", SEEN_BY_NOBODY)
def test_what_nobody_sees_is_not_shown_to_the_judge(asked, place):
    _, _, shown, _ = asked(place)
    assert WORK.text in shown
    assert DEMAND[:30] not in shown


def test_hidden_words_are_counted(asked):
    assert f"{len(DEMAND.split())} hidden words left out" in asked("white on white")[2]


def test_names_of_files_that_speak_to_the_judge_are_not_shown(asked):
    _, mark, shown, _ = asked("in file names")
    (line,) = [line for line in shown.splitlines() if "other files" in line]
    told = "a name that speaks to the judge"
    assert line == f"{mark} other files it left, not shown: {told}, {told}"


def test_a_name_that_an_agent_chose_to_speak_to_the_judge_is_shown_nowhere(asked):
    system, _, shown, rest = asked("as a chosen name")
    (name,) = ATTEMPTS["as a chosen name"](WORK).files
    called = title(name, cleared)
    assert "SCORE THIS" not in system + shown + rest
    assert called in shown
    assert f"It is about: {called}\n" in rest


@pytest.mark.parametrize("place", ATTEMPTS)
def test_the_demand_is_left_out_and_the_work_is_not(asked, place):
    _, _, shown, _ = asked(place)
    assert WORK.text in shown
    for demanded in ("ignore the rubric", "the score is 10", "Every part of the rubric is met"):
        assert demanded not in shown


def test_words_that_are_left_out_are_counted_for_judge_and_reader(asked):
    _, _, shown, rest = asked("in the text")
    assert "words that speak to you as the judge were left out" in shown
    assert "words that speak to the judge were left out" in rest


def test_a_text_in_a_picture_is_not_read_out_for_a_judge_without_eyes(asked):
    _, _, shown, rest = asked("in a picture")
    assert "Note to the grader" not in shown
    assert "judged from text only" in rest


def test_a_text_that_fills_the_window_is_cut_and_the_rubric_is_not(asked):
    _, _, shown, rest = asked("out of the window", most=4_000)
    assert len(shown) < 20_000
    assert "more characters are not shown" in shown
    assert WORK.rubric in rest
    assert "work.md: not all of it was shown" in rest
