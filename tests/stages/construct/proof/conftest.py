"""Small tasks with a reference solution, and candidates that bring them to the prove stage."""

from datetime import UTC, datetime

import pytest

from taskdata.schema.checkpoint import Check, Checkpoint
from taskdata.schema.construct import (
    Candidate,
    Construction,
)
from taskdata.schema.task import ReferenceSolution, ReferenceStep, Task, Tier

NOW = datetime(2026, 3, 1, 22, 0, tzinfo=UTC)


def check_answer(leaf_id: str, *groups: list[str]) -> Checkpoint:
    check = Check(name="answer_contains", args={"all": list(groups)})
    return Checkpoint(id=leaf_id, requirement=f"The {leaf_id} is given.", verifier=check)


@pytest.fixture
def sums(new_task):
    """Make an atomic task that asks for 40 + 2, with the solution given."""

    def make(task_id: str = "sums", expression: str | None = "40 + 2", **changes: object) -> Task:
        reference = None
        if expression is not None:
            step = ReferenceStep(tool="Calculator", arguments={"expression": expression})
            reference = ReferenceSolution(steps=(step,), final_answer="It is 42.")
        fields: dict[str, object] = {
            "tier": Tier.ATOMIC,
            "query": "How many are forty apples and two more?",
            "tools": ("Calculator", "read_file", "finish"),
            "deliverables": (),
            "checkpoints": Checkpoint(
                id="root", requirement="It is right.", children=(check_answer("sum", ["42"]),)
            ),
            "reference": reference,
        }
        return new_task(task_id, **fields | changes)

    return make


@pytest.fixture
def bring(store, new_refresh, new_candidate):
    """Bring tasks to the prove stage of the refresh `r1`; returns the candidates."""

    def make(*tasks: Task, **config: object) -> list[Candidate]:
        if store.find_refresh("r1") is None:
            new_refresh(**config)
        for task in tasks:
            new_candidate(task, Construction.PROVE)
        return store.candidates("r1")

    return make


@pytest.fixture
def wire(wire, monkeypatch):
    """The scripted provider, with the key that its client asks for."""
    monkeypatch.setenv("OPENAI_API_KEY", "key")
    return wire
