"""An agent that attacks its sandbox is contained and recorded, and the run goes on."""

from pathlib import Path

import pytest

from environments.sandbox.providers import PROVIDERS, sandbox_provider
from stages.execute import work
from stages.prepare import work as preparing
from taskdata.schema.run import OutcomeStatus
from taskdata.schema.task import ReferenceSolution, ReferenceStep, Resources
from taskdata.schema.tool import ToolErrorKind
from taskdata.schema.transcript import Ending

WRITE = ReferenceStep(tool="write_file", arguments={"path": "output/out.json", "content": "{}"})
ATTACKS = (
    "import os\nwhile True:\n    try: os.fork()\n    except OSError: pass",
    "hoard = []\nwhile True: hoard.append(bytearray(8 << 20))",
    "import os\nos.symlink('/etc/passwd', 'output/link'); os.mkfifo('output/fifo')",
    "import os\nprint(os.environ, open('/proc/1/environ').read())",
    # Last, because it stays full; with pauses, for of too many files only the first are named.
    "import time\ni = 0\nwhile True:\n    i += 1\n    time.sleep(0.02)\n"
    "    open(f'output/{i}', 'wb').write(bytes(1 << 20))",
)


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.docker] if name == "docker" else [])
        for name in PROVIDERS
    ],
)
def test_attacks_are_contained_and_recorded_and_the_run_goes_on(
    name: str, store, new_task, new_run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    if reason := sandbox_provider(name).unavailable():
        pytest.skip(reason)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-canary-77")
    steps = [ReferenceStep(tool="python_execute", arguments={"code": code}) for code in ATTACKS]
    limits = Resources(memory_mb=256, processes=40, disk_mb=4, wall_seconds=30)
    hostile = new_task(
        "hostile",
        reference=ReferenceSolution(steps=(*steps, WRITE), final_answer="done"),
        resources=limits,
    )
    innocent = new_task("innocent", reference=ReferenceSolution(steps=(WRITE,), final_answer=""))
    run = new_run(hostile, innocent, agents=("reference",), sandbox=name)
    preparing.do(store, run.id)

    report = work.do(store, run.id, 0, tmp_path)

    assert (report.due, report.done, report.errors) == (2, 2, 0)
    outcomes = {r.trial.task_id: r.outcome for r in store.results(run.id)}
    attacked = outcomes["hostile"]
    assert (attacked.status, attacked.ending) == (OutcomeStatus.FINISHED, Ending.FINISHED)
    assert attacked.limits.asked == limits
    assert (attacked.sandbox_image is None) == (name == "bubblewrap")
    assert {"'fifo' is a FIFO", "'link' is a symbolic link"} <= set(attacked.rejected_files)
    transcript = store.transcript(attacked.trial_id)
    errors = [event.error for event in transcript.tool_events]
    stopped = [error is ToolErrorKind.LIMIT for error in errors[: len(ATTACKS)]]
    assert stopped == [True, True, False, False, True], errors
    assert "canary" not in transcript.model_dump_json()
    assert [file.name for file in outcomes["innocent"].deliverables] == ["out.json"]
