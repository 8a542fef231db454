"""Progress says how far a run is, what it came to so far, and leaves log lines readable."""

import io
import logging
import re

import pytest
from rich.console import Console

from flows.cli import console, watching
from flows.cli.watching import Bars, PlainLines, watched
from taskdata.schema.run import RunFigures, StageReport

REPORT = StageReport(stage="execute", run_id="r", due=8, done=8, seconds=60)
FIGURES = RunFigures(scores={"react:openai/x": 4.25, "react:openai/y": 3.0}, cost_usd=1.5)


@pytest.fixture
def clock(monkeypatch):
    """A clock that goes on by so many seconds when told."""
    now = [1000.0]
    monkeypatch.setattr(watching.time, "monotonic", lambda: now[0])

    def advance(seconds: float) -> None:
        now[0] += seconds

    return advance


@pytest.fixture
def terminal(monkeypatch):
    """A terminal of 80 columns for both outputs; returns what was written to it."""
    written = io.StringIO()
    monkeypatch.setattr(
        console, "out", Console(file=written, force_terminal=True, width=80, soft_wrap=True)
    )
    monkeypatch.setattr(console, "err", Console(stderr=True, force_terminal=True, width=80))
    return written


def test_plain_lines_tell_rate_time_left_cost_and_score(clock, capsys):
    lines = PlainLines(lambda: FIGURES)
    lines.started("execute", 8)
    clock(60)
    lines.advanced("execute", 2)
    lines.ended("execute", REPORT)
    assert capsys.readouterr().out.splitlines() == [
        "execute: 8 trials due",
        "execute: 2/8, 2.0/min, 3 min left, $1.50, best 4.25",
        "execute: 8/8 done in 60.0 s",
    ]


def test_what_is_not_known_yet_is_not_told(clock, capsys):
    lines = PlainLines(lambda: RunFigures(cost_usd=None))
    lines.started("execute", 4)
    clock(1)
    lines.advanced("execute", 1)
    assert capsys.readouterr().out.splitlines()[-1] == (
        "execute: 1/4, 60/min, 3 s left, cost unknown"
    )


def test_a_bar_fits_80_columns_and_the_store_is_asked_every_few_seconds(clock, terminal):
    asked = []

    def figures():
        asked.append(1)
        return FIGURES

    with watched(figures=figures) as bars:
        assert isinstance(bars, Bars)
        bars.started("execute (round 1)", 10_000)
        for done in range(1, 101):
            clock(0.1)
            bars.advanced("execute (round 1)", done)
    shown = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", terminal.getvalue())
    last = [line for line in re.split(r"[\r\n]", shown) if "best" in line][-1]
    assert "10000" in last
    assert "left, $1.50, best 4.25" in last
    assert len(last.rstrip()) <= 80
    assert len(asked) <= 3


def test_a_log_line_stands_alone_above_the_bar(clock, terminal):
    handler = console.LogLines(logging.ERROR)
    with watched() as bars:
        bars.started("execute", 4)
        bars.advanced("execute", 1)
        record = logging.makeLogRecord(
            {"msg": "trial t1: bubblewrap was killed", "levelno": logging.WARNING, "process": 1}
            | {"levelname": "WARNING", "name": "stages"}
        )
        handler.handle(record)
        console.error("interrupted")
    shown = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", terminal.getvalue())
    lines = re.split(r"[\r\n]+", shown)
    assert "WARNING: trial t1: bubblewrap was killed" in lines
    assert "error: interrupted" in lines


def test_only_workers_warnings_are_shown(terminal, capsys):
    handler = console.LogLines(logging.ERROR)
    logger = logging.getLogger("stages.of.this.process")
    logger.addHandler(handler)
    logger.propagate = False
    logger.warning("said elsewhere")
    logger.error("broken \x1b[2J")
    assert capsys.readouterr().err == "ERROR: broken ⟨U+001B⟩[2J\n"
