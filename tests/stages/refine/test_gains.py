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
from taskdata.schema.summary import RefinementGain
from taskdata.store import Store

RIGHT = {"sum": 5, "difference": 1, "product": 6}
FEEDBACK = "Feedback on your previous attempt:"
AGAIN = "This is another attempt"
FIRST = (
    "sum product",
    "sum",
    "sum difference product",
    "difference product",
    "sum",
    "product sum",
    "difference sum",
)
"""What each task's first attempt has wrong; the eighth has nothing wrong, and is not refined."""
SECOND = (
    "sum",
    "sum product",
    "sum product",
    "sum difference product",
    "product",
    "sum product",
    "product sum",
)
"""What a second attempt has wrong by chance, as much as the first."""


def attempt(model: str, asked: str) -> dict[str, int]:
    """Return the values that a scripted agent delivers.

    `fixable` mends exactly what feedback names. Else an agent is right or wrong by chance.
    """
    task = int(asked.partition("case ")[2][0])
    feedback = asked.partition(FEEDBACK)[2]
    named = [key for key in RIGHT if f"The {key} is right" in feedback]
    if task >= len(FIRST):
        wrong = []
    elif AGAIN not in asked:
        wrong = FIRST[task].split()
    elif named and model == "fixable":
        wrong = [key for key in FIRST[task].split() if key not in named]
    else:
        wrong = SECOND[task - bool(feedback)].split()
    return {key: value - (key in wrong) for key, value in RIGHT.items()}


@pytest.fixture
def scripted(wire, monkeypatch) -> tuple[AgentSpec, ...]:
    """Two models, `fixable` and `unfixable`, that differ in what they make of feedback."""
    monkeypatch.setenv("COMPATIBLE_API_KEY", "sk-canary-gains")

    def respond(seen):
        messages = seen.body["messages"]
        asked = next(m["content"] for m in messages if m["role"] == "user")
        if messages[-1]["role"] == "tool":
            return wire.says("Done.")
        content = json.dumps(attempt(seen.body["model"], str(asked)))
        return wire.says("", ("write_file", {"path": "output/out.json", "content": content}))

    wire.respond = respond
    return tuple(
        AgentSpec.parse(f"function_calling:compatible/{name}", base_url=wire.openai_url)
        for name in ("fixable", "unfixable")
    )


@pytest.fixture
def gains(
    store: Store, new_run, new_task, scripted, tmp_path: Path
) -> dict[tuple[str, str], RefinementGain]:
    """The gains of a run through all stages, by model and arm."""
    query = "Please put sum, difference and product of 3 and 2 into out.json, case {}."
    tasks = [new_task(f"case-{n}", query=query.format(n)) for n in range(len(FIRST) + 1)]
    arms = ("none", "checkpoint")
    run = new_run(*tasks, agents=scripted, feedback=arms, refinement_rounds=1)
    preparing.do(store, run.id, tmp_path)
    for round_ in (0, 1):
        if round_:
            refining.do(store, run.id, round_)
        executing.do(store, run.id, round_, tmp_path)
        scoring.do(store, run.id, round_, home=tmp_path)
        diagnosing.do(store, run.id, round_)
    summary = summarise(store.run(run.id), store.results(run.id), store.tasks_of_run(run.id))
    assert [agent.root_score.mean for agent in summary.agents] == [
        pytest.approx(110 / 24),
        pytest.approx(110 / 24),
    ]
    return {(gain.agent.rpartition("/")[2], gain.arm): gain for gain in summary.refinement}


def test_who_can_mend_gains_by_checkpoints_alone_and_who_cannot_gains_nowhere(gains):
    for gain in gains.values():
        assert (gain.trials, gain.errors, gain.gain.n) == (7, 0, 7)
        assert (gain.whole_bank.trials, gain.whole_bank.refined) == (8, 7)

    told = gains["fixable", "checkpoint"]
    assert told.mean_after == 10
    assert told.success_after.mean == 1
    assert told.gain.ci95[0] > 0
    assert told.over_none.difference.ci95[0] > 0
    assert told.over_none.p_holm < 0.05
    assert told.whole_bank.gain.ci95[0] > 0
    assert told.regressions.worse == 0

    for model, arm in (("fixable", "none"), ("unfixable", "none"), ("unfixable", "checkpoint")):
        low, high = gains[model, arm].gain.ci95
        assert low < 0 < high
        assert gains[model, arm].regressions.worse > 0
    low, high = gains["unfixable", "checkpoint"].over_none.difference.ci95
    assert low < 0 < high
