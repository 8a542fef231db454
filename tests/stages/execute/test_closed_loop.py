"""Render, inspect, revise: a model sees an overflow on a drawn slide and mends it.

The model is scripted, but it sees: it decodes the last picture of each request, and finds the
overflow by the red of the text at the lower edge of the slide.
"""

import base64
import io
import json
import re
from datetime import UTC, datetime
from pathlib import Path

import pytest
from PIL import Image

from stages.execute import work
from stages.prepare.work import first_trial
from stages.score import work as score
from taskdata.schema.agent import AgentSpec
from taskdata.schema.checkpoint import Check, Checkpoint
from taskdata.schema.run import Run, RunConfig, RunStatus
from taskdata.schema.self_verification import SelfVerification
from tests.soak import at_length_only

FORMATS = {
    "openai": "openai-chat/gpt-5.2",
    "responses": "openai-responses/gpt-5.2",
    "anthropic": "anthropic/claude-opus-4-6",
}
SOAKED = [pytest.mark.soak, at_length_only]
MAKE = """
from pptx import Presentation
from pptx.dml.color import RGBColor
from pptx.util import Inches, Pt
deck = Presentation()
box = deck.slides.add_slide(deck.slide_layouts[6]).shapes.add_textbox(
    Inches(1), Inches(1), Inches(8), Inches(2))
for line in range({lines}):
    paragraph = box.text_frame.add_paragraph() if line else box.text_frame.paragraphs[0]
    run = paragraph.add_run()
    run.text = f"point {{line + 1}} of the plan"
    run.font.size, run.font.color.rgb = Pt(20), RGBColor(220, 0, 0)
deck.save("output/plan.pptx")
"""
VIEW = ("view_file", {"path": "output/plan.pptx"})
_PICTURE = re.compile(r'"(?:data:image/png;base64,)?(iVBORw0KGgo[\w+/=]*)"')


def picture_in(body: object) -> Image.Image | None:
    found = _PICTURE.findall(json.dumps(body))
    return Image.open(io.BytesIO(base64.b64decode(found[-1]))).convert("RGB") if found else None


def overflows(slide: Image.Image) -> bool:
    edge = slide.crop((0, int(slide.height * 0.93), slide.width, slide.height))
    return any(r > 180 and g < 90 and b < 90 for r, g, b in edge.get_flattened_data())


def scripted_agent(wire):
    """Make the deck, look at it, and mend it as long as the text runs off the slide."""

    def respond(seen):
        said = json.dumps(seen.body)
        if said.count("view_file") and "output/plan.pptx has 1 slide" in said:
            slide = picture_in(seen.body)
            looked_again = said.count("output/plan.pptx has 1 slide") > 1
            if slide is None:
                return wire.says("I cannot see it.", ("finish", {"answer": "done, unseen"}))
            if not overflows(slide):
                return wire.says("It fits.", ("finish", {"answer": "done"}))
            assert not looked_again, "the mended slide still overflows"
            mend = ("python_execute", {"code": MAKE.format(lines=6)})
            return wire.says("The text runs off the slide.", mend, VIEW)
        return wire.says("", ("python_execute", {"code": MAKE.format(lines=40)}), VIEW)

    wire.respond = respond


@pytest.fixture
def deck_task(new_task):
    check = Check(name="pptx_words_per_slide", deliverable="plan.pptx", args={"max": 40})
    return new_task(
        query="Make a slide of the plan in output/plan.pptx.",
        tools=("python_execute", "view_file"),
        deliverables=({"name": "plan.pptx", "type": "pptx"},),
        checkpoints=Checkpoint(id="fits", requirement="The slide is not too full.", verifier=check),
    )


@pytest.fixture
def run_trial(store, tmp_path: Path, wire, monkeypatch):
    """Execute and score one trial; returns its result, transcript and run."""
    monkeypatch.setenv("OPENAI_API_KEY", "key")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "key")

    def make(task, model: str, harness: str = "function_calling", **settings):
        dialect = "anthropic" if model.startswith("anthropic") else "openai"
        agent = AgentSpec.parse(f"{harness}:{model}", base_url=wire.base_url(dialect), **settings)
        config = {"bank": "test", "agents": [agent], "page_pictures": False}
        run = Run(
            id=f"run-{len(store.runs())}",
            status=RunStatus.RUNNING,
            config=RunConfig.model_validate(config),
            release_hash=store.add_release("test", (task,), {}).hash,
            code_version="test",
            created_at=datetime.now(UTC),
        )
        store.add_run(run)
        store.plan_trials([first_trial(run.id, agent.name, task.content_hash, task, 0)])
        work.do(store, run.id, 0, tmp_path / "home")
        score.do(store, run.id, 0)
        (result,) = store.results(run.id)
        assert result.outcome.error is None, result.outcome.error_detail
        return result, store.transcript(result.trial.id)

    return make


@pytest.mark.parametrize(
    "wire_format",
    [
        "openai",
        *(pytest.param(name, marks=SOAKED) for name in ("responses", "anthropic")),
    ],
)
def test_an_overflow_is_seen_and_mended(wire, run_trial, deck_task, store, wire_format):
    scripted_agent(wire)

    result, transcript = run_trial(deck_task, FORMATS[wire_format])

    assert result.root_score == 10
    assert {seen.dialect for seen in wire.seen} == {wire_format}
    assert [event.call.tool for event in transcript.tool_events] == [
        *("python_execute", "view_file", "python_execute", "view_file", "finish")
    ]
    first, second = (e.pictures[0] for e in transcript.tool_events if e.pictures)
    assert first.was_shown
    assert second.was_shown
    assert first.name == "output/plan.pptx, slide 1"
    slide = Image.open(io.BytesIO(store.artifacts.read_bytes(first.sha256)))
    assert overflows(slide.convert("RGB"))
    assert {file.sha256 for file in result.outcome.tool_pictures} == {first.sha256, second.sha256}
    assert result.outcome.self_verification is SelfVerification.LOOKED
