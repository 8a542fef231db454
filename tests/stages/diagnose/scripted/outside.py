"""Trials that are lost outside their agent: something around it breaks while it works."""

import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

from environments.mcp.client import launch
from environments.models.retry import RetryPolicy
from environments.sandbox.bubblewrap import provider as bubblewrap
from environments.tool_runtime.toolbox import Toolbox
from stages.execute.dialogue.conversation import Conversation
from stages.score import work as score
from taskdata.errors import NightshiftError
from tests.stages.diagnose.scripted.agents import (
    STEPS,
    Given,
    Script,
    bundled,
    call,
    finish,
    step,
    varied,
)
from tests.wire_server import WireServer

_TOYS, _CHART = "starter/toy-library-week", "starter/bike-counter-chart"
_LOOK = call("ReadCSV", path="input/loans_week_19.csv")
_SEES = ["ImageDescription", "list_files", "finish"]
_ODD_CHECK = {
    "id": "root",
    "requirement": "The number of loans is found.",
    "verifier": {"kind": "check", "name": "text_matches", "args": {"pattern": "(42"}},
}
_PRICES = """
compatible:
  as_of: 2026-01-01
  source: a test
  models:
    scripted: {input: 10, output: 10, cached_input: 1}
"""


@contextmanager
def _impatient() -> Iterator[None]:
    """Retry at once."""
    waits = {"attempts": 2, "first_wait_seconds": 0.01}
    made = RetryPolicy.__init__

    def init(self: RetryPolicy, **given: Any) -> None:
        made(self, **(waits | given))

    with patch.object(RetryPolicy, "__init__", init):
        yield


@contextmanager
def _priced() -> Iterator[None]:
    """Know a price of the scripted model."""
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as prices:
        prices.write(_PRICES)
        prices.flush()
        with patch.dict(os.environ, NIGHTSHIFT_PRICES=prices.name):
            yield


def _sandbox(program: str) -> Callable[[], AbstractContextManager[object]]:
    """Start sandboxes with this program."""
    return lambda: patch.object(bubblewrap, "_bwrap", lambda: Path(program))


def _raises(
    where: Any, name: str, error: Exception
) -> Callable[[], AbstractContextManager[object]]:
    return lambda: patch.object(where, name, side_effect=error)


def _without_files(name: str) -> Given:
    """Return a bundled task whose input files nobody has stored."""
    return Given(bundled(name).task, {})


SCRIPTS = [
    Script(
        name="provider-fails-every-time",
        half="written",
        task=_TOYS,
        replies=[_LOOK, *[WireServer.fails(500, "overloaded")] * 9],
        breaks=_impatient,
        about="After the first reply the provider answers every attempt with status 500.",
        labels={"provider": []},
    ),
    Script(
        name="provider-refuses-the-key",
        half="held_out",
        task="starter/hose-trade-price",
        replies=[WireServer.fails(401, "no such key")] * 3,
        about="The provider rejects the key at once.",
        labels={"provider": []},
    ),
    Script(
        name="sandbox-ends-at-once",
        half="written",
        task=_TOYS,
        replies=[_LOOK],
        breaks=_sandbox("/bin/false"),
        about="The program that makes the sandbox ends at once.",
        labels={"sandbox": []},
    ),
    Script(
        name="sandbox-program-is-gone",
        half="held_out",
        task="starter/mobile-library-tour",
        agent=STEPS,
        replies=[step("list_files", "{}")],
        breaks=_sandbox("/opt/none-such/bwrap"),
        about="The program that makes the sandbox is not there.",
        labels={"sandbox": []},
    ),
    Script(
        name="tool-has-no-model",
        half="written",
        task=varied(_CHART, tools=_SEES, reference=None),
        replies=[call("ImageDescription", image="input/report_page_23.png")],
        about="The task offers a tool that asks a multimodal model, and the run names none.",
        labels={"tool_backend": []},
    ),
    Script(
        name="model-of-a-tool-is-down",
        half="held_out",
        task=varied(_CHART, tools=_SEES, reference=None),
        replies=[
            call("ImageDescription", image="input/report_page_23.png"),
            *[WireServer.fails(503, "out of service")] * 9,
        ],
        breaks=_impatient,
        config={"tool_model": "openai/gpt-5.2"},
        about="The model behind a tool does not answer when the agent calls the tool.",
        labels={"tool_backend": []},
    ),
    Script(
        name="mcp-server-is-not-installed",
        half="written",
        task="starter-closed-loop/plot-water-notice",
        replies=[call("read_file", path="input/notes_of_the_meeting.txt")],
        breaks=lambda: patch.object(launch, "is_installed", return_value=False),
        about="The MCP server that the task needs is not installed where the trial runs.",
        labels={"tool_backend": []},
    ),
    Script(
        name="check-of-the-task-cannot-run",
        half="written",
        task=varied(_TOYS, checkpoints=_ODD_CHECK, answer=None, reference=None),
        replies=[
            call("read_file", path="input/loans_week_19.csv"),
            finish("On Friday you lent 42 toys."),
        ],
        about="The agent answers right, but the task's check has a pattern that is none.",
        labels={"broken_task": []},
    ),
    Script(
        name="files-of-the-task-are-gone",
        half="held_out",
        task=_without_files("starter/quayside-festival-poster"),
        replies=[call("list_files", path="input")],
        about="The input files of the task are not in the store.",
        labels={"broken_task": []},
    ),
    Script(
        name="our-toolbox-has-a-bug",
        half="written",
        task=_TOYS,
        replies=[_LOOK],
        breaks=_raises(Toolbox, "call", KeyError("columns")),
        about="Nightshift itself raises a KeyError when the agent calls a tool.",
        labels={"our_bug": []},
    ),
    Script(
        name="an-error-that-does-not-say",
        half="written",
        task=_TOYS,
        replies=[call("list_files", path="input"), _LOOK],
        breaks=_raises(Toolbox, "call", NightshiftError("it came to nothing")),
        about="The trial is lost to an error that does not say which part failed.",
        labels={"undetermined": []},
    ),
    Script(
        name="our-scoring-has-a-bug",
        half="held_out",
        task="starter/subject-line-winner",
        replies=[call("ReadCSV", path="input/test_4_may.csv"), finish("187 readers.")],
        breaks=_raises(score, "aggregate", ZeroDivisionError("float division by zero")),
        about="The agent answers right; Nightshift itself fails while it scores the trial.",
        labels={"our_bug": []},
    ),
    Script(
        name="our-conversation-has-a-bug",
        half="written",
        task=_TOYS,
        replies=[step("ReadCSV", '{"path": "input/loans_week_19.csv"}')],
        breaks=_raises(Conversation, "observe", AttributeError("no attribute 'shown'")),
        agent=STEPS,
        about="Nightshift itself raises an AttributeError while it shows the agent a result.",
        labels={"our_bug": []},
    ),
    Script(
        name="money-of-the-run-is-used-up",
        half="written",
        task=_TOYS,
        replies=[_LOOK, finish("You lent 42 toys.")],
        breaks=_priced,
        config={"max_usd": 0.000001},
        about="The run may cost less than one call of the agent.",
        labels={"run_limit": []},
    ),
    Script(
        name="deadline-of-the-setup-passes",
        half="held_out",
        task="starter/hose-trade-price",
        replies=[call("ReadPDF", path="input/nordhag_trade_prices_2026.pdf")],
        config={"deadlines": {"setup_seconds": 0.001}},
        about="The run gives its trials no time to be set up.",
        labels={"run_limit": []},
    ),
]
