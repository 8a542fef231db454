"""A call that a file has taken over spoils itself, and nothing that comes after it."""

import asyncio
import signal
from typing import Any

import pytest

from environments.tool_runtime.warm import python
from tests.environments.tool_runtime.warm.conftest import EVERYWHERE, SERVER, Codes, Taken


@EVERYWHERE
@pytest.mark.parametrize(
    ("code", "limits"),
    [
        ("hoard = []\nwhile True: hoard.append(bytearray(8 << 20))", {"memory_mb": 192}),
        ("while True: pass", {"cpu_seconds": 1}),
        (
            "import threading, time\n"
            "while True: threading.Thread(target=time.sleep, args=(60,)).start()",
            {"processes": 16},
        ),
        (
            "while True:\n  for i in range(9): open(f'output/{i}', 'ab').write(bytes(1 << 20))\n",
            {"disk_mb": 4},
        ),
    ],
)
def test_what_exhausts_a_limit_is_stopped_and_the_next_call_is_served(
    warm, code: str, limits: dict[str, int]
):
    async def calling(call: Codes, taken: Taken) -> Any:
        stopped = await call(code)
        after = await call("for n in range(9):\n  if os.path.exists(f'output/{n}'): print('x')")
        return stopped, after, taken.ran

    stopped, after, ran = warm(calling, **limits)

    # Python may meet the limit before the watch does.
    assert stopped.exit_code < 0 or b"Error" in stopped.stderr
    assert stopped.seconds < 20
    assert (after.exit_code, after.limit, ran) == (0, None, 0)


@EVERYWHERE
def test_the_python_that_stays_cannot_be_looked_into(in_turn):
    code = (
        "import ctypes\n"
        "libc = ctypes.CDLL(None, use_errno=True)\n"
        "def attempt(what, call):\n"
        "    try: call()\n"
        "    except OSError: pass\n"
        "    else: print(what)\n"
        f"for pid in ({SERVER},):\n"
        "    attempt('mem', lambda: open(f'/proc/{pid}/mem', 'rb'))\n"
        "    attempt('environ', lambda: open(f'/proc/{pid}/environ').read())\n"
        "    attempt('fd', lambda: os.listdir(f'/proc/{pid}/fd'))\n"
        "    attempt('out', lambda: os.open(f'/proc/{pid}/fd/1', os.O_WRONLY))\n"
        "    if libc.ptrace(16, pid, 0, 0) != -1: print('attached')\n"
        "for fd in range(3, 64): attempt(fd, lambda: os.fstat(fd))\n"
        "print('done')\n"
    )

    assert in_turn(code)[0].stdout == b"done\n"


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_who_kills_it_goes_with_it_and_the_next_call_gets_another(warm, number: signal.Signals):
    async def calling(call: Codes, taken: Taken) -> Any:
        killer = await call(f"os.kill({SERVER}, {number:d}); import time; time.sleep(30)")
        return killer, await call("print('fine')"), len(taken.started), taken.ran

    killer, after, started, ran = warm(calling)

    assert killer.exit_code < 0
    assert killer.seconds < 15
    assert (after.stdout, started, ran) == (b"fine\n", 2, 0)


def test_who_stops_it_is_stopped(warm, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(python, "_SECONDS_TO_KILL", 1.0)

    async def calling(call: Codes, taken: Taken) -> Any:
        stopped = await call(f"os.kill({SERVER}, {signal.SIGSTOP:d})")
        return stopped, await call("print('fine')")

    stopped, after = warm(calling, wall_seconds=1)

    assert stopped.limit == "wall"
    assert after.stdout == b"fine\n"


def test_what_cannot_be_tidied_up_ends_it(warm):
    async def calling(call: Codes, taken: Taken) -> Any:
        # Too deep to be walked by a recursion.
        deep = "os.chdir('/tmp')\nfor i in range(1500): os.mkdir('d'); os.chdir('d')"
        look = "print([n for n in os.listdir('/tmp') if os.access(f'/tmp/{n}', os.W_OK)])"
        return [await call(deep), await call(look)], len(taken.started)

    (deep, after), started = warm(calling)

    assert deep.exit_code == 0, deep.stderr
    assert (after.stdout, started) == (b"[]\n", 2)


def test_a_cancelled_call_is_gone_and_the_next_is_served(warm):
    async def calling(call: Codes, taken: Taken) -> Any:
        running = asyncio.create_task(call("import time; time.sleep(30)"))
        await asyncio.sleep(0.7)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        return await call("print('fine')")

    assert warm(calling).stdout == b"fine\n"
