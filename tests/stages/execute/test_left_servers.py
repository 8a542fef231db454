"""Servers that a task's preprocess program leaves running, as the agent reaches them."""

import io
import tarfile
from pathlib import Path

import pytest

from environments.sandbox.providers import PROVIDERS, sandbox_provider
from stages.execute import work
from stages.prepare import work as preparing
from taskdata.schema.run import OutcomeStatus, TrialOutcome
from taskdata.schema.task import InputFile, ReferenceSolution, ReferenceStep, TaskEnvironment
from taskdata.store import Store

PUBLISHED = """
import os, shutil, subprocess, sys, tarfile
from datetime import datetime
launched = sys.argv[sys.argv.index("--launch_time") + 1]
datetime.strptime(launched, "%Y-%m-%d %H:%M:%S")
folder = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
initial = os.path.join(folder, "initial_workspace", "notes.tar.gz")
shutil.copy2(initial, sys.argv[sys.argv.index("--agent_workspace") + 1])
place = os.path.join(folder, "tmp")
os.makedirs(place)
with tarfile.open(os.path.join(folder, "files", "pages.tar.gz")) as archive:
    archive.extractall(place)
for port in (30511, 30512):
    subprocess.Popen(
        f"nohup python3 -m http.server {port} --directory {place} > {place}/server.log 2>&1 &",
        shell=True,
    )
"""
ONE_ANSWER = """
import socket, subprocess, sys
code = '''
import socket
server = socket.create_server(("127.0.0.1", 30513))
one, _ = server.accept()
one.recv(100)
one.sendall(b"HTTP/1.0 200 OK\\\\r\\\\n\\\\r\\\\nonce")
'''
subprocess.Popen([sys.executable, "-c", code])
"""
ASK = """
import os, urllib.error, urllib.request
def ask(port, path="prices.txt", **how):
    try:
        url = urllib.request.Request(f"http://localhost:{port}/{path}", **how)
        return urllib.request.urlopen(url, timeout=20).read()
    except OSError as error:
        return getattr(error, "code", "refused")
"""


def asking(code: str) -> ReferenceStep:
    return ReferenceStep(tool="python_execute", arguments={"code": ASK + code})


@pytest.fixture
def tried(store: Store, new_task, new_run, tmp_path: Path):
    """Try a task once whose preprocess program is given; return what became of it."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        page = tarfile.TarInfo("prices.txt")
        page.size = 8
        archive.addfile(page, io.BytesIO(b"tea: 30\n"))

    def stored(path: str, data: bytes) -> InputFile:
        sha256 = store.artifacts.put_bytes(data)
        return InputFile(path=path, sha256=sha256, size_bytes=len(data))

    def run(program: str, code: str, sandbox: str = "bubblewrap") -> TrialOutcome:
        if reason := sandbox_provider(sandbox).unavailable():
            pytest.skip(reason)
        task = new_task(
            files=(stored("notes.tar.gz", packed.getvalue()),),
            environment=TaskEnvironment(
                preprocess=(
                    stored("preprocess/main.py", program.encode()),
                    stored("files/pages.tar.gz", packed.getvalue()),
                ),
                one_workspace=True,
                folders=("memory",),
            ),
            reference=ReferenceSolution(steps=(asking(code),), final_answer="seen"),
        )
        made = new_run(task, agents=("reference",), sandbox=sandbox)
        preparing.do(store, made.id)
        work.do(store, made.id, 0, tmp_path)
        (trial,) = store.trials(made.id)
        outcome = store.outcome(trial.id)
        assert outcome is not None
        return outcome

    return run


def running(words: str) -> list[str]:
    """Return the command lines of processes of this machine that hold these words."""
    found = []
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = file.read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
        except OSError:
            continue
        found += [line] if words in line else []
    return found


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.docker] if name == "docker" else [])
        for name in PROVIDERS
    ],
)
def test_the_agent_reaches_them_reads_only_and_they_end_with_the_trial(tried, store, name: str):
    # Both tests may run at once, and look for their own processes alone.
    port = {"bubblewrap": 30511, "docker": 30521}[name]
    code = (
        f"PORT = {port}"
        + """
print(ask(PORT), ask(30512), ask(PORT, method="PUT", data=b"tea: 1"), ask(30599))
os.utime("output/notes.tar.gz", (0, 0))
print(sorted(os.listdir("output")))
"""
    )
    outcome = tried(PUBLISHED.replace("30511", str(port)), code, name)

    assert outcome.status is OutcomeStatus.FINISHED, outcome.error_detail
    [event] = store.transcript(outcome.trial_id).tool_events
    assert "b'tea: 30\\n' b'tea: 30\\n' 501 refused" in event.text
    # The archive among the initial files is the task's to unpack, as it is in the pool's own loop.
    assert "['memory', 'notes.tar.gz']" in event.text
    assert running(f"http.server {port}") == []


def test_one_that_ends_before_the_trial_does_costs_the_trial(tried):
    outcome = tried(ONE_ANSWER, "print(ask(30513))")

    assert outcome.status is OutcomeStatus.INFRASTRUCTURE
    assert "nothing answers at port 30513 any more" in outcome.error


def test_what_has_ended_is_no_server(tried, store):
    outcome = tried("import subprocess; subprocess.Popen(['true'])", "print('worked')")

    assert outcome.status is OutcomeStatus.FINISHED, outcome.error_detail
    assert "worked" in store.transcript(outcome.trial_id).tool_events[0].text


def test_more_servers_than_can_be_reached_are_a_fault_of_the_task(tried):
    program = """
import socket, os, time
held = [socket.create_server(("127.0.0.1", 30600 + n)) for n in range(9)]
if os.fork() == 0:
    time.sleep(60)
"""
    outcome = tried(program, "print(1)")

    assert outcome.status is OutcomeStatus.INFRASTRUCTURE
    assert "it left servers on 9 ports, more than 8" in outcome.error
