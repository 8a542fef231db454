"""A trial's cap holds for the models of its tools, too."""

from collections import Counter

import pytest
from aiohttp import web
from PIL import Image

from stages.execute import work
from stages.prepare import work as preparing
from taskdata.schema.agent import AgentSpec, Budget
from taskdata.schema.task import InputFile
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
SEEN_USD = 0.2


def called(number, behaviour):
    """Give the call of a scripted reply an id that no other reply's has, as providers do."""

    async def behave(seen, request):
        answer = await behaviour(seen, request)
        body = answer.body.replace(b'"call_0"', f'"call_{number}"'.encode())
        return web.Response(body=body, content_type="application/json")

    return behave


@pytest.fixture
def look(store, new_run, new_task, wire, tmp_path, monkeypatch):
    """Let an agent look at a picture, twice if it may; returns outcome, tool events and looks."""
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
    task = new_task("one", tools=("RegionAttributeDescription", "finish"), files=(shown,))

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
            return called(asked["m"], wire.says("", ("RegionAttributeDescription", about)))

        wire.respond = respond
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
        transcript = store.transcript(result.trial.id)
        events = transcript.events if transcript else ()
        tools = [event for event in events if event.kind == "tool"]
        return result.outcome, tools, asked["seer"]

    return play


@pytest.fixture(params=["function_calling", "openai_agents"])
def harness(request):
    return request.param


def test_a_tool_that_could_go_beyond_the_cap_is_refused(look, wire, harness):
    seer = wire.says("Red.", input_tokens=1_000, output_tokens=1_000)
    outcome, (first, second), asked = look(harness, 0.4, seer)
    assert (first.error, first.cost_usd) == (None, pytest.approx(SEEN_USD))
    assert (second.error, second.cost_usd) == (ToolErrorKind.REFUSED, 0.0)
    assert "what is left of the trial's money may not suffice" in second.text
    assert asked == 1
    assert (outcome.ending, outcome.final_answer) == (Ending.FINISHED, "Done.")
    assert outcome.cost_usd <= 0.4


def test_what_a_tools_model_may_charge_without_an_answer_uses_up_the_cap(look, wire, harness):
    truncated = wire.truncates()
    outcome, _, asked = look(harness, 0.4, truncated)
    assert asked == 1, "another attempt could go beyond the cap"
    assert outcome.status == "infrastructure"
    assert "there is no money for another" in outcome.error
