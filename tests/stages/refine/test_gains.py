"""From the first attempt to the gain: who can mend what feedback names, and who cannot."""

import json
from pathlib import Path

import pytest

from quality.summary import summarise
from stages.diagnose import work as diagnosing
from stages.execute import work as executing
from stages.prepare import work as preparing
from stages.refine import work as refining
from stages.score import work as scoring
from taskdata.schema.agent import AgentSpec
from taskdata.store import Store

RIGHT = {"sum": 5, "difference": 1, "product": 6}
WRONG = RIGHT | {"sum": 4, "product": 7}
FEEDBACK = "Feedback on your previous attempt:"


@pytest.fixture
def scripted(wire, monkeypatch):
    """A model that mends what it is told, under the name `fixable`, and one that never does."""
    monkeypatch.setenv("COMPATIBLE_API_KEY", "sk-canary-gains")

    def respond(seen):
        messages = seen.body["messages"]
        asked = next(m["content"] for m in messages if m["role"] == "user")
        feedback = str(asked).partition(FEEDBACK)[2]
        is_told = seen.body["model"] == "fixable" and "The sum is right" in feedback
        content = json.dumps(RIGHT if is_told else WRONG)
        if messages[-1]["role"] == "tool":
            return wire.says("Done.")
        return wire.says("", ("write_file", {"path": "output/out.json", "content": content}))

    wire.respond = respond
    return [
        AgentSpec.parse(f"function_calling:compatible/{name}", base_url=wire.openai_url)
        for name in ("fixable", "unfixable")
    ]


def test_who_can_mend_gains_by_checkpoints_alone_and_who_cannot_gains_nowhere(
    store: Store, new_run, task, scripted, tmp_path: Path
):
    run = new_run(
        task, agents=tuple(scripted), feedback=("none", "checkpoint"), refinement_rounds=1
    )
    preparing.do(store, run.id, tmp_path)
    for round_ in (0, 1):
        if round_:
            report = refining.do(store, run.id, round_)
            assert (report.due, report.errors) == (4, 0)
        executing.do(store, run.id, round_, tmp_path)
        scoring.do(store, run.id, round_, home=tmp_path)
        diagnosing.do(store, run.id, round_)

    summary = summarise(store.run(run.id), store.results(run.id), store.tasks_of_run(run.id))

    gains = {(g.agent.rpartition("/")[2], g.arm): g.gain.mean for g in summary.refinement}
    first = summary.agents[0].root_score.mean
    assert first == pytest.approx(10 / 3)
    assert gains == {
        ("fixable", "none"): 0,
        ("fixable", "checkpoint"): pytest.approx(10 - first),
        ("unfixable", "none"): 0,
        ("unfixable", "checkpoint"): 0,
    }
