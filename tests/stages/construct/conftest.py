"""Candidates, and a scripted author for the stages that ask a model."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from environments.models.openai.chat import OpenAIClient
from environments.models.retry import RetryPolicy
from environments.models.wire.endpoint import Endpoint
from stages.construct.start import start_refresh
from taskdata.schema.agent import ModelSpec
from taskdata.schema.construct import (
    Refresh,
    RefreshConfig,
)
from taskdata.schema.seed import SeedQuery

NOW = datetime(2026, 3, 1, 22, 0, tzinfo=UTC)


@pytest.fixture(autouse=True)
def _key(monkeypatch):
    """A key, without which no refresh starts; nothing here asks the provider."""
    monkeypatch.setenv("OPENAI_API_KEY", "k")


@pytest.fixture
def scripts(load_module):
    """The forms that the scripted author fills in, and how to vary them."""
    return load_module(Path(__file__).with_name("author.py"))


@pytest.fixture
def author(wire, scripts):
    """A scripted model that answers each prompt of construction."""
    return scripts.Author(wire)


@pytest.fixture
def connect(wire):
    """Make the real client of a model, talking to the scripted provider and never waiting long."""

    def make(spec: ModelSpec, base_url: str | None) -> OpenAIClient:
        policy = RetryPolicy(attempts=2, first_wait_seconds=0.01, longest_wait_seconds=0.02)
        return OpenAIClient(Endpoint(spec, wire.openai_url, "k"), policy)

    return make


@pytest.fixture
def started(store):
    """Start a refresh over seeds of one's own; returns it as stored."""

    def start(*texts: str, source: str = "reddit", **config: object) -> Refresh:
        texts = texts or ("How do I add up our harvest?",)
        seeds = [SeedQuery(text=text, source=source) for text in texts]
        store.add_seeds(seeds, [], [], "seeds.jsonl")
        fields = {"base": None, "model": {"provider": "openai", "model": "gpt-5-mini"}, **config}
        return start_refresh(
            store, RefreshConfig.model_validate(fields), f"r-{len(store.refreshes())}"
        )

    return start
