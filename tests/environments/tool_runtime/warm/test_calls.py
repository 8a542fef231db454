"""What is forked ends as a program of its own would, and leaves nothing to the next."""

import signal

import pytest

from environments.ports import Workspace
from tests.environments.tool_runtime.warm.conftest import EVERYWHERE, SERVER


@EVERYWHERE
def test_a_call_ends_like_a_program_of_its_own(in_turn):
    good, bad, odd = in_turn(
        "print('out'); print('err', file=sys.stderr); open('output/a', 'w').write('x')",
        "sys.exit(3)",
        "raise ValueError('no')",
    )

    assert (good.exit_code, good.stdout, good.stderr, good.limit) == (0, b"out\n", b"err\n", None)
    assert (bad.exit_code, bad.stdout) == (3, b"")
    assert odd.exit_code == 1
    assert odd.stderr.endswith(b"ValueError: no\n")


def test_what_a_call_changes_in_its_memory_is_gone(in_turn):
    first, second = in_turn(
        f"import json; json.spoilt = True; os.environ['SPOILT'] = '1'; print({SERVER})",
        f"import json; print({SERVER}); print(hasattr(json, 'spoilt'), 'SPOILT' in os.environ)",
    )

    assert second.stdout == first.stdout + b"False False\n"


def test_large_requests_and_answers_pass(in_turn):
    (done,) = in_turn(f"x = {'y' * 2_000_000!r}\nprint(x)", output_kb=4096)

    assert done.stdout == b"y" * 2_000_000 + b"\n"


@pytest.mark.parametrize("number", [signal.SIGSEGV, signal.SIGKILL, signal.SIGTERM])
def test_a_crash_ends_the_call_alone(in_turn, number: signal.Signals):
    crashed, after = in_turn(f"os.kill(os.getpid(), {number:d})", "print('fine')")

    assert (crashed.exit_code, crashed.limit) == (-number, None)
    assert after.stdout == b"fine\n"


@EVERYWHERE
def test_temporary_files_and_daemons_are_gone_before_the_next_call(in_turn, workspace: Workspace):
    daemon = (
        "os.makedirs('/tmp/a/b'); open('/tmp/a/b/c', 'w'); open('/dev/shm/d', 'w')\n"
        "os.symlink('/workspace/output', '/tmp/link'); open('output/kept', 'w')\n"
        "if os.fork() == 0:\n"
        "    os.setsid()\n"
        "    if os.fork() == 0:\n"
        "        import time\n"
        "        print('up', flush=True)\n"
        "        time.sleep(60)\n"
        "    os._exit(0)\n"
        "os.wait()\n"
    )
    look = (
        "def lives(pid):\n"
        # Init takes a moment to reap a process that was killed.
        "    try: return open(f'/proc/{pid}/stat').read().rpartition(')')[2].split()[0] != 'Z'\n"
        "    except FileNotFoundError: return False\n"
        "pids = {int(name) for name in os.listdir('/proc') if name.isdigit() and lives(name)}\n"
        f"known = {{1, os.getpid(), {SERVER}}}\n"
        "shells = {p for p in pids if b'go && ' in open(f'/proc/{p}/cmdline', 'rb').read()}\n"
        # What cannot be written to was there before: the environment may be below /tmp.
        "temporary = [n for n in os.listdir('/tmp') if os.access(f'/tmp/{n}', os.W_OK)]\n"
        "print(pids - known - shells, temporary, os.listdir('/dev/shm'))\n"
    )

    left, clean = in_turn(daemon, look)

    assert left.exit_code == 0, left.stderr
    assert left.seconds < 10
    assert clean.stdout == b"set() [] []\n", clean.stderr
    assert (workspace.output / "kept").exists()


def test_a_call_has_the_whole_cpu_time_for_itself(in_turn):
    burn = "import time\nwhile time.process_time() < 0.4: pass\n"

    assert [done.exit_code for done in in_turn(*[burn] * 3, cpu_seconds=1)] == [0] * 3


def test_time_that_is_up_ends_the_call_alone(in_turn):
    slow, after = in_turn("import time; time.sleep(60)", "print('fine')", wall_seconds=1)

    assert (slow.exit_code, slow.limit) == (-signal.SIGKILL, "wall")
    assert slow.seconds < 8
    assert after.stdout == b"fine\n"


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_a_flood_ends_the_call_alone(in_turn, stream: str):
    flood = f"while True: sys.{stream}.write('spam' * 10_000)"

    stopped, after = in_turn(flood, "print('fine')", output_kb=64)

    assert (stopped.exit_code, stopped.limit) == (-signal.SIGKILL, "output")
    assert len(stopped.stdout) + len(stopped.stderr) == 64 * 1024
    assert after.stdout == b"fine\n"
