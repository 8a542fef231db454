"""A trial's cap holds for the models of its tools, too."""

from collections import Counter

import pytest
from PIL import Image

from stages.execute import work
from stages.prepare import work as preparing
from stages.workers.backlog import Holder
from taskdata.schema.agent import AgentSpec, Budget
from taskdata.schema.task import InputFile, ReferenceSolution, ReferenceStep
from taskdata.schema.tool import ToolErrorKind
from taskdata.schema.transcript import Ending

PRICES = """
compatible:
  as_of: 2026-01-01
  source: a test
  models:
    m: {input: 1, output: 1, cached_input: 1}
    seer: {input: 100, output: 100, cached_input: 10}
"""
IMAGE = "input/photo.png"
LOOKED = 10_000
"""Tokens of one look, as input and again as output."""
SEEN_USD = 2.0
CAP_USD = 6.0
"""Room for the most that one look can cost, and not for another after the first."""


@pytest.fixture
def photo_task(store, new_task, tmp_path, monkeypatch):
    """Make a task about a picture that a model with a price looks at."""
    prices = tmp_path / "prices.yaml"
    prices.write_text(PRICES)
    monkeypatch.setenv("NIGHTSHIFT_PRICES", str(prices))
    photo = tmp_path / "photo.png"
    Image.new("RGB", (8, 8), "red").save(photo)
    shown = InputFile(
        path="photo.png",
        sha256=store.artifacts.put_file(photo),
        size_bytes=photo.stat().st_size,
    )

    def make(**fields):
        tools = ("RegionAttributeDescription", "finish")
        return new_task("one", tools=tools, files=(shown,), **fields)

    return make


@pytest.fixture
def evaluated(store, new_run, wire, tmp_path):
    """Run an agent on a task with a model behind its tools; returns outcome and transcript."""

    def run(harness, max_usd, task):
        agent = AgentSpec.parse(
            f"{harness}:compatible/m",
            base_url=wire.openai_url,
            native_inputs=(),
            budget=Budget(max_usd=max_usd, max_reply_tokens=100),
        )
        run = new_run(
            task,
            agents=(agent,),
            refinement_rounds=0,
            tool_model="compatible/seer",
            tool_model_base_url=wire.openai_url,
        )
        preparing.do(store, run.id)
        work.do(store, run.id, 0, tmp_path)
        (result,) = store.results(run.id)
        return result.outcome, store.transcript(result.trial.id)

    return run


@pytest.fixture
def look(evaluated, photo_task, wire):
    """Let an agent look at a picture, twice if it may; returns outcome, tool events and looks."""

    def play(harness, max_usd, seer):
        asked = Counter()

        def respond(seen):
            asked[seen.body["model"]] += 1
            if seen.body["model"] == "seer":
                return seer
            if asked["m"] > 2:
                return wire.says("Done.")
            # Equal questions are answered from what is kept.
            about = {"image": IMAGE, "attribute": f"color {asked['m']}", "bbox": "(0, 0, 8, 8)"}
            return wire.called(asked["m"], wire.says("", ("RegionAttributeDescription", about)))

        wire.respond = respond
        outcome, transcript = evaluated(harness, max_usd, photo_task())
        events = transcript.events if transcript else ()
        tools = [event for event in events if event.kind == "tool"]
        return outcome, tools, asked["seer"]

    return play


@pytest.fixture(params=["function_calling", "openai_agents"])
def harness(request):
    return request.param


def test_a_tool_that_could_go_beyond_the_cap_is_refused(look, wire, harness):
    seer = wire.says("Red.", input_tokens=LOOKED, output_tokens=LOOKED)
    outcome, (first, second), asked = look(harness, CAP_USD, seer)
    assert (first.error, first.cost_usd) == (None, pytest.approx(SEEN_USD))
    assert (second.error, second.cost_usd) == (ToolErrorKind.REFUSED, 0.0)
    assert "what is left of the trial's money may not suffice" in second.text
    assert asked == 1
    assert (outcome.ending, outcome.final_answer) == (Ending.FINISHED, "Done.")
    assert outcome.cost_usd <= CAP_USD


def test_what_a_tools_model_may_charge_without_an_answer_uses_up_the_cap(look, wire, harness):
    truncated = wire.truncates()
    outcome, _, asked = look(harness, CAP_USD, truncated)
    assert asked == 1, "another attempt could go beyond the cap"
    assert outcome.status == "infrastructure"
    assert "there is no money for another" in outcome.error


@pytest.fixture
def played(evaluated, photo_task, wire):
    """Let an agent predict a step that looks at the picture; returns outcome and transcript."""
    look = {"image": IMAGE, "attribute": "color", "bbox": "(0, 0, 8, 8)"}
    step = ReferenceStep(tool="RegionAttributeDescription", arguments=look)
    task = photo_task(reference=ReferenceSolution(steps=(step,), final_answer="Red."))

    def play(harness, max_usd, seer_tokens=LOOKED, *, seer_is_silent=False):
        seer = wire.says("Red.", input_tokens=LOOKED, output_tokens=seer_tokens)
        if seer_is_silent:
            seer = wire.truncates()
        own = wire.says("Final Answer: Red.", input_tokens=1_000, output_tokens=0)
        wire.respond = lambda seen: seer if seen.body["model"] == "seer" else own
        return evaluated(harness, max_usd, task)

    return play


def test_playing_a_reference_costs_what_its_tools_models_do(played):
    outcome, transcript = played("react_steps", CAP_USD)
    assert outcome.cost_usd == pytest.approx(SEEN_USD + 2 * 0.001)
    assert transcript.cost_usd == pytest.approx(outcome.cost_usd)
    assert (outcome.tool_calls, outcome.turns) == (0, 2), "none of it is a call of the agent's"


def test_playing_a_reference_is_paid_from_the_trials_money(played, wire):
    outcome, _ = played("react_steps", CAP_USD, seer_tokens=50_000)
    assert (outcome.ending, outcome.cost_usd) == (Ending.OUT_OF_MONEY, pytest.approx(CAP_USD))
    assert [seen.body["model"] for seen in wire.seen] == ["seer"]


def test_a_reference_that_the_trials_money_may_not_suffice_for_is_not_the_agents_doing(played):
    outcome, _ = played("react_steps", 0.01)
    assert outcome.status == "infrastructure"
    assert "what is left of the trial's money may not suffice" in outcome.error


def test_the_silence_of_a_tools_model_does_not_count_against_the_agents_provider(
    played, monkeypatch
):
    noted = []
    monkeypatch.setattr(Holder, "unanswered", lambda holder, trial_id: noted.append(trial_id))
    outcome, _ = played("react_steps", CAP_USD, seer_is_silent=True)
    assert outcome.status == "infrastructure"
    assert outcome.error.startswith("RegionAttributeDescription: compatible/seer")
    assert noted == []
