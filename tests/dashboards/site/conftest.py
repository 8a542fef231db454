"""Nights made by hand, and the pages that are written of them."""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from bs4 import BeautifulSoup

from dashboards.site.write import write_site
from taskdata.schema.estimate import Estimate
from taskdata.schema.night import Morning, Night, NightSettings, ScoreChange
from tests.dashboards.site.nights import cell_of, task_of

Scores = Mapping[str, Mapping[str, Sequence[float | None]]]


@pytest.fixture
def new_night() -> Callable[..., Night]:
    """A night by its place in the history: agent -> task -> scores by repetition."""

    def made(place: int, scores: Scores, bank: str = "office@1", **known: Any) -> Night:
        started = datetime(2026, 3, 1, 2, tzinfo=UTC) + timedelta(days=place)
        settings = NightSettings(
            bank=bank,
            release_hash=hashlib.sha256(bank.encode()).hexdigest(),
            threshold=7,
            min_coverage=0.5,
            sandbox="bubblewrap",
            repetitions=1,
            refinement_rounds=0,
            code_version="1",
            agents=dict.fromkeys(scores, "0" * 64),
        )
        names = dict.fromkeys(task for own in scores.values() for task in own)
        fields = {
            "run_id": f"night-{place}",
            "created_at": started,
            "status": "completed",
            "settings": settings,
            "controls": tuple(agent for agent in scores if agent in ("reference", "nop")),
            "tasks": tuple(task_of(name) for name in names),
            "cells": tuple(
                cell_of(agent, task, given)
                for agent, own in scores.items()
                for task, given in own.items()
            ),
            "cost_usd": 1.0,
            "wall_s": 60.0,
        }
        return Night(**(fields | known))

    return made


@pytest.fixture
def new_change() -> Callable[..., ScoreChange]:
    def made(**known: Any) -> ScoreChange:
        fields = {
            "agent": "solver",
            "scope": "all",
            "tasks": 12,
            "before": 8.0,
            "after": 6.5,
            "difference": Estimate(mean=-1.5, ci95=(-2.0, -1.0), n=12),
            "p_value": 0.0002,
            "verdict": "confirmed",
        }
        return ScoreChange(**(fields | known))

    return made


@pytest.fixture
def page(tmp_path) -> Callable[..., BeautifulSoup]:
    """Write the site of some nights and return one page of it."""

    def written(
        nights: Sequence[Night], *mornings: Morning, name: str = "index.html", **more: Any
    ) -> BeautifulSoup:
        write_site(tmp_path / "site", nights, {m.run_id: m for m in mornings}, **more)
        return BeautifulSoup((tmp_path / "site" / name).read_text(encoding="utf-8"), "html.parser")

    return written
