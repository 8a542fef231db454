"""Checks in processes of their own: the same scores, and an end to what takes too long."""

import asyncio
import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from stages.score.checking import process
from stages.score.checking.exchange import CheckLimits
from stages.score.checking.leaves import LIMITS, check_leaves, prepare_to_check
from stages.score.checking.process import check_process
from stages.score.evidence import TrialEvidence
from stages.score.guide.document import examples
from taskdata.errors import BadTaskData, ChecksFailed
from taskdata.schema.checkpoint import Check, Checkpoint, Judge
from taskdata.schema.views import TextView

EXAMPLES = examples()
SHORT = CheckLimits(check_seconds=0.2, trial_seconds=0.5)
HANGING = ("text_matches", "evil.md", {"pattern": r"^(a+)+$"})
SOUND = ("text_matches", "notes.md", {"pattern": "words"})
EVIL = {"evil.md": TextView(text="a" * 33 + "!")}


def leaves(*checks):
    return [
        Checkpoint(
            id=f"leaf-{number}",
            requirement="It is right.",
            verifier=Check(name=name, deliverable=deliverable, args=args),
        )
        for number, (name, deliverable, args, *_) in enumerate(checks)
    ]


def score(checks, evidence, limits=LIMITS):
    """Return the scores of the checks, in order."""

    found = asyncio.run(check_leaves(leaves(*checks), evidence, limits))
    return [found[f"leaf-{number}"] for number in range(len(checks))]


def test_every_check_gives_the_same_score_there(run, views):
    trial = TrialEvidence(views=views, delivered=tuple(views), final_answer="It is 42.")
    found = score(EXAMPLES, trial)
    for (name, deliverable, args, _), leaf in zip(EXAMPLES, found, strict=True):
        here = run(name, deliverable, args, answer="It is 42.")
        assert leaf == here.model_copy(update={"leaf_id": leaf.leaf_id}), name


def test_a_check_that_takes_too_long_scores_0_and_the_others_are_scored(views):
    found = score([SOUND, HANGING, SOUND], TrialEvidence(views=views | EVIL), SHORT)
    assert [leaf.score for leaf in found] == [10, 0, 10]
    assert found[1].reason == "stopped: the check took more than 0.2 s of CPU time"
    assert found[1].verifier == "check:text_matches@2"


def test_a_trial_has_a_limit_of_its_own(views):
    trial = TrialEvidence(views=views | EVIL)
    found = score([HANGING, HANGING, HANGING, HANGING, SOUND], trial, SHORT)
    assert [leaf.score for leaf in found] == [0, 0, 0, 0, 0]
    assert [leaf.reason[:8] for leaf in found] == ["stopped:"] * 3 + ["not run:"] * 2


def test_other_trials_are_scored_while_a_check_hangs(views):
    async def both():
        hanging = check_leaves(
            leaves(HANGING), TrialEvidence(views=EVIL), CheckLimits(check_seconds=300)
        )
        slow = asyncio.create_task(hanging)
        await asyncio.sleep(0)
        scores = await check_leaves(leaves(SOUND), TrialEvidence(views=views))
        slow.cancel()
        with pytest.raises(asyncio.CancelledError):
            await slow
        return scores["leaf-0"]

    prepare_to_check()
    assert asyncio.run(both()).score == 10


def test_a_process_has_a_memory_limit_and_no_key_in_its_environment(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    score([SOUND], TrialEvidence(views={}), CheckLimits(memory_bytes=900 << 20))
    with check_process(900 << 20) as idle:
        assert resource.prlimit(idle.pid, resource.RLIMIT_AS) == (900 << 20, 900 << 20)
        assert "secret" not in Path(f"/proc/{idle.pid}/environ").read_text()
        idle.kill()


def test_a_large_scoring_process_keeps_its_process_for_the_next_trial(views):
    ballast = b"much" * (80 << 20)
    limits = CheckLimits(memory_bytes=1 << 30)
    pids = set()
    for _ in range(3):
        score([SOUND], TrialEvidence(views=views), limits)
        with check_process(limits.memory_bytes) as idle:
            pids.add(idle.pid)
    idle.kill()
    assert len(ballast) > limits.memory_bytes / 4
    assert len(pids) == 1


def test_an_invalid_check_is_the_tasks_fault_and_judged_leaves_are_left_alone(views):
    judged = Checkpoint(id="tone", requirement="Friendly.", verifier=Judge(rubric="10: friendly"))
    assert asyncio.run(check_leaves([judged], TrialEvidence(views=views))) == {}
    with pytest.raises(BadTaskData, match=r"'text_matches': field args\.pattern"):
        score([("text_matches", "notes.md", {"pattern": "("})], TrialEvidence(views=views))


def fake_program(tmp_path, monkeypatch, body):
    """Let processes run `body` instead of the worker."""
    program = tmp_path / f"program{len(list(tmp_path.iterdir()))}.py"
    program.write_text(body)
    monkeypatch.setattr(process, "PROGRAM", (sys.executable, str(program)))


def test_a_process_that_crashes_on_a_check_scores_0_and_one_that_is_killed_is_our_failure(
    views, tmp_path, monkeypatch
):
    crash = "import os, signal, sys; sys.stdin.readline(); os.kill(os.getpid(), signal.{})"
    fake_program(tmp_path, monkeypatch, crash.format("SIGSEGV"))
    (leaf,) = score([SOUND], TrialEvidence(views=views))
    assert (leaf.score, leaf.reason) == (0, "the check broke off: SIGSEGV")
    fake_program(tmp_path, monkeypatch, crash.format("SIGKILL"))
    with pytest.raises(ChecksFailed, match="exit code -9"):
        score([SOUND], TrialEvidence(views=views))


def test_a_machine_that_is_too_busy_is_our_failure(views, tmp_path, monkeypatch):
    fake_program(tmp_path, monkeypatch, "import time; time.sleep(60)")
    with pytest.raises(ChecksFailed, match="the machine is too busy"):
        score([SOUND], TrialEvidence(views=views), CheckLimits(wall_seconds=0.1))


RETIRES = """
import sys
from pathlib import Path
begun = Path({begun!r})
with begun.open("a") as log:
    log.write("x")
if len(begun.read_text()) <= {times}:
    sys.stdin.readline()
    sys.exit(0)
from stages.score.checking.worker import main
sys.exit(main())
"""


@pytest.mark.parametrize("times", [3, 1000])
def test_processes_that_had_retired_are_replaced_and_such_as_never_work_are_our_failure(
    times, views, tmp_path, monkeypatch
):
    begun = str(tmp_path / "begun")
    fake_program(tmp_path, monkeypatch, RETIRES.format(begun=begun, times=times))
    if times == 3:
        assert score([SOUND], TrialEvidence(views=views))[0].score == 10
        return
    with pytest.raises(ChecksFailed, match="exit code 0"):
        score([SOUND], TrialEvidence(views=views))


def test_a_process_that_died_while_it_was_idle_is_replaced(views):
    score([SOUND], TrialEvidence(views=views))
    with check_process(LIMITS.memory_bytes) as idle:
        idle.kill()
    assert score([SOUND], TrialEvidence(views=views))[0].score == 10


def test_a_process_is_killed_with_whoever_waits_for_it(views, tmp_path, monkeypatch):
    told = tmp_path / "told"
    body = f"import os; open({str(told)!r}, 'w').write(str(os.getpid()))\nwhile True: pass"
    fake_program(tmp_path, monkeypatch, body)

    async def cancelled():
        asking = asyncio.create_task(check_leaves(leaves(SOUND), TrialEvidence(views=views)))
        while not told.exists() or not told.read_text():
            await asyncio.sleep(0.01)
        asking.cancel()
        await asyncio.wait([asking])

    asyncio.run(cancelled())
    with pytest.raises(ProcessLookupError):
        os.kill(int(told.read_text()), 0)


def test_no_process_outlives_one_that_is_killed(tmp_path):
    """Nobody tidies up after SIGKILL: the end of the pipe is what ends the process."""
    parent = (
        "import os, signal, sys\n"
        "from stages.score.checking.leaves import LIMITS\n"
        "from stages.score.checking.process import check_process\n"
        "with check_process(LIMITS.memory_bytes) as idle: print(idle.pid, flush=True)\n"
        "os.kill(os.getpid(), signal.SIGKILL)"
    )
    done = subprocess.run([sys.executable, "-c", parent], stdout=subprocess.PIPE, check=False)
    assert done.returncode == -signal.SIGKILL
    deadline = time.monotonic() + 60
    while is_running(int(done.stdout)) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not is_running(int(done.stdout))


def is_running(pid):
    """Return whether the process runs still; one that nobody has waited for does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False
