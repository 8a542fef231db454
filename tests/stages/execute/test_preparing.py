"""The state a task starts from is made by its own program, out of the agent's sight."""

from pathlib import Path

import pytest

from environments.sandbox.providers import PROVIDERS, sandbox_provider
from stages.execute import preprocessing as phase
from stages.execute import work
from stages.prepare import work as preparing
from taskdata.schema.run import OutcomeStatus, TrialOutcome
from taskdata.schema.task import InputFile, ReferenceSolution, ReferenceStep, TaskEnvironment
from taskdata.store import Store

PROGRAM = """
import argparse, json
from pathlib import Path
parser = argparse.ArgumentParser()
parser.add_argument("--agent_workspace", type=Path)
parser.add_argument("--launch_time")
asked = parser.parse_args()
assert asked.launch_time[:2] == "20"
data = json.loads((Path(__file__).parent.parent / "mails.json").read_text())
with (asked.agent_workspace / "mail" / "inbox.txt").open("a") as inbox:
    inbox.write(data["mail"])
(asked.agent_workspace / "draft.txt").unlink()
(asked.agent_workspace / "new").mkdir()
(asked.agent_workspace / "new" / "state.txt").write_text("made")
"""
LOOK = ReferenceStep(
    tool="python_execute",
    arguments={
        "code": "import os\n"
        "print(sorted(n for _, _, names in os.walk('input') for n in names), "
        "os.path.exists('/workspace/input/preprocess'), "
        "repr(open('input/mail/inbox.txt').read()))\n"
        "try: open('input/mail/inbox.txt', 'a')\n"
        "except OSError: print('read only')\n"
    },
)


@pytest.fixture
def tried(store: Store, new_task, new_run, tmp_path: Path):
    """Try a task once whose preprocess program is given; return what became of it."""

    def stored(path: str, content: str) -> InputFile:
        data = content.encode()
        sha256 = store.artifacts.put_bytes(data)
        return InputFile(path=path, sha256=sha256, size_bytes=len(data))

    def run(program: str, sandbox: str = "bubblewrap") -> TrialOutcome:
        task = new_task(
            files=(stored("mail/inbox.txt", "old\n"), stored("draft.txt", "x")),
            environment=TaskEnvironment(
                preprocess=(
                    stored("preprocess/main.py", program),
                    stored("mails.json", '{"mail": "from program"}'),
                )
            ),
            reference=ReferenceSolution(steps=(LOOK,), final_answer="seen"),
        )
        made = new_run(task, agents=("reference",), sandbox=sandbox)
        preparing.do(store, made.id)
        work.do(store, made.id, 0, tmp_path)
        (trial,) = store.trials(made.id)
        outcome = store.outcome(trial.id)
        assert outcome is not None
        return outcome

    return run


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.docker] if name == "docker" else [])
        for name in PROVIDERS
    ],
)
def test_the_agent_finds_what_the_program_left_and_not_the_program(tried, store, name: str):
    if reason := sandbox_provider(name).unavailable():
        pytest.skip(reason)

    outcome = tried(PROGRAM, name)

    assert outcome.status is OutcomeStatus.FINISHED, outcome.error_detail
    [event] = store.transcript(outcome.trial_id).tool_events
    assert "['inbox.txt', 'state.txt'] False 'old\\nfrom program'" in event.text
    assert "read only" in event.text


@pytest.mark.parametrize(
    ("program", "reason"),
    [
        ("raise SystemExit('no mail server')", "ended with code 1: no mail server"),
        ("import os; os.symlink('/etc/passwd', 'output/link')", "'link' is a symbolic link"),
        ("import time; time.sleep(60)", "was stopped at its time limit of 1 s"),
        ("open('/usr/nightshift', 'w')", "ended with code 1: OSError: [Errno 30]"),
        ("open('/workspace/input/mails.json', 'w')", "ended with code 1: OSError: [Errno 30]"),
        ("import club_tools", "ended with code 1: ModuleNotFoundError: No module named 'club"),
    ],
    ids=["fails", "leaves a link", "takes too long", "writes outside", "its own", "imports"],
)
def test_a_program_that_fails_is_not_the_agents_failure(
    tried, monkeypatch: pytest.MonkeyPatch, program: str, reason: str
):
    monkeypatch.setattr(phase, "WALL_SECONDS", 1.0)

    outcome = tried(program)

    assert outcome.status is OutcomeStatus.INFRASTRUCTURE
    assert outcome.error.startswith("task 'sum-two': preprocess/main.py ")
    assert reason in outcome.error
    assert outcome.tool_calls == 0
