"""What the plan says of agents that are not shown the input files which others may be shown."""

import pytest

from stages.prepare import work
from taskdata.schema.agent import AgentSpec

PHOTO = {"path": "photo.png", "sha256": "0" * 64, "size_bytes": 3}


@pytest.fixture(autouse=True)
def _keys(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "k")
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)


@pytest.fixture
def planned(store, new_run, new_task):
    """Return what is said of the plan of one agent on one task."""

    def plan(agent: str, files: tuple = (PHOTO,), **settings: object) -> str:
        spec = AgentSpec.parse(agent, **settings)
        return work.do(store, new_run(new_task(files=files), agents=(spec,)).id).note

    return plan


PLANNED = "1 trials planned over 1 tasks"


def test_an_agent_of_a_model_that_nobody_knows_is_named(planned):
    assert planned("react:openai/gpt-9") == (
        f"{PLANNED}; which files openai/gpt-9 takes is not known, so react:openai/gpt-9 is shown "
        "none itself unless its native_inputs names them"
    )


def test_so_is_one_whose_requests_have_no_place_for_recordings(planned):
    hears = {"native_inputs": ("audio", "image")}
    assert planned("react:anthropic/claude-haiku-4-5", **hears) == (
        f"{PLANNED}; react:anthropic/claude-haiku-4-5 is shown no audio: requests to "
        "anthropic/claude-haiku-4-5 take none"
    )


@pytest.mark.parametrize(
    ("agent", "settings"),
    [
        ("react:openai/gpt-5.2", {}),
        ("react:openai/gpt-9", {"native_inputs": ("image",)}),
        ("react:openai/gpt-9", {"native_inputs": ()}),
        ("react:openai/gpt-9", {"files": ()}),
        ("react:local/smollm2-135m", {}),
        ("nop", {}),
    ],
)
def test_otherwise_there_is_nothing_to_say(planned, agent, settings):
    assert planned(agent, **settings) == PLANNED
