"""An atomic exemplar over a small table, a refresh over it, and a model that fills in forms."""

import json
from datetime import UTC, datetime

import pytest

from quality.bank_statistics import bank_statistics
from stages.construct.atomic.form import AtomicForm
from taskdata.schema.agent import ModelSpec
from taskdata.schema.construct import Refresh, RefreshConfig, RefreshStatus
from taskdata.schema.release import ReleaseNotes
from taskdata.schema.task import ObjectiveAnswer, ReferenceSolution, ReferenceStep, Task, Tier

TABLE = b"crop,kg\nleek,40\nkale,2\nbeet,13\n"


def step(tool: str, **arguments: object) -> dict[str, str]:
    return {"tool": tool, "thought": "It must be known.", "arguments": json.dumps(arguments)}


@pytest.fixture
def exemplar(new_task, store):
    """How many kilograms of leek and kale: with ReadCSV and Calculator."""
    sha256 = store.artifacts.put_bytes(TABLE)

    def make(task_id: str = "crop-sum", **changes: object) -> Task:
        chain = (
            ReferenceStep(tool="ReadCSV", arguments={"path": "input/crops.csv"}),
            ReferenceStep(tool="Calculator", arguments={"expression": "40 + 2"}),
        )
        fields: dict[str, object] = {
            "tier": Tier.ATOMIC,
            "query": "How many kilograms of leek and kale together did we harvest?",
            "files": ({"path": "crops.csv", "sha256": sha256, "size_bytes": len(TABLE)},),
            "tools": ("ReadCSV", "Calculator", "python_execute", "read_file", "finish"),
            "deliverables": (),
            "checkpoints": {
                "id": "root",
                "requirement": "The sum is right.",
                "verifier": {"kind": "check", "name": "answer_contains", "args": {"all": [["42"]]}},
            },
            "answer": ObjectiveAnswer(whitelist=(("42",),)),
            "reference": ReferenceSolution(steps=chain, final_answer="42 kg"),
        }
        return new_task(task_id, **fields | changes)

    return make


@pytest.fixture
def filled_in():
    """Return a form as a model would fill it in: leek and beet, in the same two tools."""

    def make(**changes: object) -> dict[str, object]:
        return {
            "title": "Leek and beet",
            "query": "The scale of our club takes 60 kg. How much do our leek and beet weigh?",
            "category": "data_analysis",
            "files": ["crops.csv"],
            "tools": ["ReadCSV", "Calculator"],
            "steps": [
                step("ReadCSV", path="input/crops.csv"),
                step("Calculator", expression="40 + 13"),
            ],
            "final_answer": "Together they weigh 53 kg, so they fit.",
            "answer_kind": "objective",
            "states": [{"ways_to_say_it": ["53", "fifty-three"]}],
            "wrong": ["55"],
            "references": [],
        } | changes

    return make


@pytest.fixture
def form(filled_in):
    """The same as a form that was read."""

    def make(**changes: object) -> AtomicForm:
        return AtomicForm.model_validate_json(json.dumps(filled_in(**changes)))

    return make


@pytest.fixture
def wire(wire, monkeypatch):
    """The scripted provider, with the key that its client asks for."""
    monkeypatch.setenv("OPENAI_API_KEY", "key")
    return wire


@pytest.fixture
def released(store):
    """Make a bank of these tasks the newest release of the bank `tiny`."""

    def make(*tasks: Task) -> None:
        release = store.add_release("tiny", tasks, {})
        store.add_release_notes(
            ReleaseNotes(
                release_hash=release.hash,
                bank="tiny",
                version=1,
                snapshot_sha256=release.hash,
                statistics=bank_statistics(tasks),
                created_at=datetime.now(UTC),
            )
        )

    return make


@pytest.fixture
def refresh(store, wire):
    """Start the refresh `r1` on the bank `tiny`, its model being the scripted provider."""

    def make(**config: object) -> Refresh:
        fields = {
            "base": "tiny",
            "model": ModelSpec(provider="openai", model="model-1"),
            "base_url": wire.openai_url,
        }
        new = Refresh(
            id="r1",
            status=RefreshStatus.RUNNING,
            config=RefreshConfig.model_validate(fields | config),
            code_version="test",
            created_at=datetime.now(UTC),
        )
        store.add_refresh(new)
        return new

    return make
