"""A provider that plans, examines plans and works, and runs whose agents use it."""

import json
from collections import Counter

import pytest

from stages.execute import work
from stages.prepare import work as preparing
from taskdata.schema.agent import AgentSpec

DRAFT = {
    "steps": [
        {"purpose": "Read the notes", "tool": "read_file"},
        {"purpose": "Say how many lines there are", "tool": None},
    ]
}
BETTER = {
    "criticism": "Nothing is checked.",
    "steps": [*DRAFT["steps"], {"purpose": "Count again"}],
}


def kind_of(seen) -> str:
    """Return what a request asks for: `draft`, `again`, `refine` or `work`."""
    messages = seen.body["messages"]
    if not messages[0]["content"].startswith("You plan office work"):
        return "work"
    newest = str(messages[-1]["content"])
    if newest.startswith("This plan could not be read"):
        return "again"
    return "refine" if newest.startswith("Now examine") else "draft"


@pytest.fixture
def planning_wire(wire):
    """The scripted provider; `replies` says by kind of request what it answers."""
    wire.replies = {
        "draft": wire.says(json.dumps(DRAFT), input_tokens=100, output_tokens=20),
        "again": wire.says(json.dumps(DRAFT), input_tokens=100, output_tokens=20),
        "refine": wire.says(json.dumps(BETTER), input_tokens=100, output_tokens=20),
        "work": wire.says("Thought: done\nFinal Answer: 2", input_tokens=10, output_tokens=5),
    }
    wire.respond = lambda seen: wire.replies[kind_of(seen)]
    wire.asked = lambda: Counter(kind_of(seen) for seen in wire.seen)
    return wire


@pytest.fixture
def planning_agent(planning_wire):
    """Make an agent of the scripted provider."""

    def make(way: str, **settings: object) -> AgentSpec:
        return AgentSpec.parse(
            f"{way}:compatible/m", **({"base_url": planning_wire.openai_url} | settings)
        )

    return make


@pytest.fixture
def evaluated(store, new_run, tmp_path):
    """Run agents on a task; returns the run's outcomes and transcripts by agent."""

    def run(task, *agents: AgentSpec, **config: object):
        made = new_run(task, agents=agents, refinement_rounds=0, **config)
        preparing.do(store, made.id)
        work.do(store, made.id, 0, tmp_path / "home")
        found = {}
        for result in store.results(made.id):
            outcome = result.outcome
            kept = outcome.transcript_sha256 is not None
            found[result.trial.agent] = (
                outcome,
                store.transcript(outcome.trial_id) if kept else None,
            )
        return found

    return run
