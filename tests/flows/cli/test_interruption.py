"""Ctrl-C says one line at once, ends with 130, and a second one does not wait."""

import signal
import subprocess
import sys
import time

import pytest

from flows.cli.interruption import _SECONDS_TO_END

PROGRAM = """
import logging, sys, time
from flows.cli import app, interruption

def work():
    try:
        print("at work", flush=True)
        # A signal that comes just before a long sleep begins would be noticed after it.
        for _ in range(1200):
            time.sleep(0.05)
    except KeyboardInterrupt:
        logging.getLogger("distributed").error("torn from its work")
        time.sleep({cleaning})
        {ending}

def report():
    with interruption.interruptible("`nightshift run --resume x` does the rest"):
        work()

app.app.command("work")(report)
interruption._SECONDS_TO_END = {within}
sys.argv = ["nightshift", "work"]
app.main()
"""


@pytest.fixture
def started(home):
    """Start a command that works until it is interrupted, and then takes so long to clean up."""
    running = []

    def start(cleaning: float = 0.0, ending: str = "raise", within: float = _SECONDS_TO_END):
        program = PROGRAM.format(cleaning=cleaning, ending=ending, within=within)
        process = subprocess.Popen(
            [sys.executable, "-c", program],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        running.append(process)
        assert process.stdout.readline() == "at work\n"
        return process

    yield start
    for process in running:
        process.kill()
        process.communicate()


LINE = "error: interrupted; `nightshift run --resume x` does the rest\n"


@pytest.mark.parametrize(
    "ending",
    ["raise", "pass", "raise RuntimeError('the scheduler was lost')"],
    ids=["raised", "swallowed", "taken for an error"],
)
def test_one_line_and_exit_code_130_however_the_work_takes_it(started, ending):
    process = started(ending=ending)
    process.send_signal(signal.SIGINT)
    assert process.communicate(timeout=30) == ("", LINE)
    assert process.returncode == 130


def test_the_line_comes_before_the_cleaning_up(started):
    process = started(cleaning=60)
    process.send_signal(signal.SIGINT)
    assert process.stderr.readline() == LINE
    assert process.poll() is None, "it is still cleaning up"


def test_a_second_one_does_not_wait_for_the_cleaning_up(started):
    process = started(cleaning=60)
    process.send_signal(signal.SIGINT)
    assert process.stderr.readline() == LINE
    began = time.monotonic()
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=30)
    assert process.returncode == 130
    assert time.monotonic() - began < 30


def test_cleaning_up_takes_seconds_at_most(started):
    assert _SECONDS_TO_END <= 10
    process = started(cleaning=120, within=1.0)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    assert process.returncode == 130
