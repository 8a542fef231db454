"""What every sandbox promises of programs that are started and talked to, whoever makes it."""

import asyncio
import os
from pathlib import Path

import pytest

from environments.ports import Completed, Mount, Process, SandboxProvider, Workspace
from taskdata.schema.task import Resources

UPPER = "import sys\nfor line in sys.stdin: print(line.upper(), end='', flush=True)"
NAP = "import time; time.sleep(60)  # {}"


@pytest.fixture
def talk(provider: SandboxProvider, workspace: Workspace):
    """Start Python code in a sandbox of its own under limits; return what `talking` makes of it."""

    def run(code: str, talking, mounts: tuple[Mount, ...] = (), **limits: object):
        async def inside():
            resources = Resources.model_validate(limits)
            async with provider.open(workspace, resources, "test") as sandbox:
                process = await sandbox.start([*sandbox.python(), "-c", code], mounts=mounts)
                return await talking(process)

        return asyncio.run(inside())

    return run


async def line_of(process: Process) -> bytes:
    line = b""
    while not line.endswith(b"\n"):
        chunk = await process.read()
        assert chunk, line
        line += chunk
    return line


async def to_the_end(process: Process) -> Completed:
    """Read until the program has ended its output, and close."""
    while await process.read():
        pass
    return await process.close()


def test_a_program_is_talked_to_line_by_line(talk):
    async def talking(process: Process) -> tuple[list[bytes], Completed]:
        answers = []
        for word in (b"one\n", b"two\n"):
            await process.write(word)
            answers.append(await line_of(process))
        return answers, await process.close(grace_seconds=10)

    answers, done = talk(UPPER, talking)

    assert answers == [b"ONE\n", b"TWO\n"]
    assert (done.exit_code, done.limit, done.stdout) == (0, None, b"")


def test_standard_error_and_the_exit_code_are_kept(talk):
    done = talk("import sys; print('oops', file=sys.stderr); sys.exit(3)", to_the_end)

    assert (done.exit_code, done.stderr, done.limit) == (3, b"oops\n", None)


def test_what_is_written_first_thing_is_not_lost(talk):
    async def talking(process: Process) -> bytes:
        return await line_of(process)

    assert talk("print('x' * 1000, flush=True); input()", talking) == b"x" * 1000 + b"\n"


def test_large_messages_pass_both_ways(talk):
    async def talking(process: Process) -> bytes:
        writing = asyncio.create_task(process.write(b"y" * 3_000_000 + b"\n"))
        line = await line_of(process)
        await writing
        return line

    assert talk(UPPER, talking) == b"Y" * 3_000_000 + b"\n"


def test_closing_kills_what_does_not_leave(talk, alive):
    async def talking(process: Process) -> Completed:
        return await process.close(grace_seconds=0.3)

    done = talk(NAP.format("closed-6120"), talking)

    assert (done.exit_code, done.limit) == (-9, None)
    assert not alive("closed-6120")


def test_closing_twice_is_closing_once(talk):
    async def talking(process: Process) -> list[Completed]:
        return [await process.close(), await process.close()]

    first, second = talk(UPPER, talking)
    assert first == second


def test_a_closed_program_neither_reads_nor_writes(talk):
    async def talking(process: Process) -> bytes:
        await process.close()
        with pytest.raises(BrokenPipeError):
            await process.write(b"hello\n")
        return await process.read()

    assert talk(UPPER, talking) == b""


def test_a_missing_program_ends_with_127(provider: SandboxProvider, workspace: Workspace):
    async def run() -> Completed:
        async with provider.open(workspace, Resources()) as sandbox:
            return await to_the_end(await sandbox.start(["no-such-program"]))

    assert asyncio.run(run()).exit_code == 127


def test_closing_the_sandbox_closes_its_programs(
    provider: SandboxProvider, workspace: Workspace, alive
):
    async def run() -> tuple[bytes, bytes]:
        async with provider.open(workspace, Resources()) as sandbox:
            nap = [*sandbox.python(), "-c", NAP.format("forgotten-3381")]
            first, second = await sandbox.start(nap), await sandbox.start(nap)
            await asyncio.sleep(0.2)
        return await first.read(), await second.read()

    assert asyncio.run(run()) == (b"", b"")
    assert not alive("forgotten-3381")


def test_a_failure_of_ours_leaves_nothing(provider: SandboxProvider, workspace: Workspace, alive):
    async def run() -> None:
        async with provider.open(workspace, Resources()) as sandbox:
            await sandbox.start([*sandbox.python(), "-c", NAP.format("failure-9034")])
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        asyncio.run(run())
    assert not alive("failure-9034")


def test_programs_that_are_waited_for_run_beside_it(
    provider: SandboxProvider, workspace: Workspace
):
    """Not even one that kills everything in sight ends it, and neither sees the other."""

    async def run() -> tuple[bytes, bytes]:
        async with provider.open(workspace, Resources()) as sandbox:
            process = await sandbox.start([*sandbox.python(), "-c", UPPER])
            await process.write(b"before\n")
            before = await line_of(process)
            killer = "import os; os.kill(-1, 9)"
            await sandbox.run([*sandbox.python(), "-c", killer], wall_seconds=5)
            await process.write(b"after\n")
            return before, await line_of(process)

    assert asyncio.run(run()) == (b"BEFORE\n", b"AFTER\n")


def test_output_is_shared_and_mounts_are_read_only(talk, workspace: Workspace, tmp_path: Path):
    (tmp_path / "server").mkdir()
    (tmp_path / "server" / "code.txt").write_text("code")
    os.chmod(tmp_path, 0o755)
    code = (
        "print(open('/opt/mcp/server/code.txt').read(), flush=True)\n"
        "open('output/note', 'w').write('mine')\n"
        "try: open('/opt/mcp/server/new', 'w')\n"
        "except OSError: print('refused', flush=True)\n"
    )

    async def talking(process: Process) -> bytes:
        said = b""
        while chunk := await process.read():
            said += chunk
        return said

    mounts = (Mount(tmp_path / "server", "/opt/mcp/server"),)
    assert talk(code, talking, mounts) == b"code\nrefused\n"
    assert (workspace.output / "note").read_text() == "mine"


def test_there_is_no_network_and_nothing_of_our_environment(talk, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret")
    code = (
        "import os, socket\n"
        "try: socket.create_connection(('1.1.1.1', 53), 2)\n"
        "except OSError: print('cut off', 'secret' in str(os.environ), os.getuid() == 0)\n"
    )

    async def talking(process: Process) -> bytes:
        return await line_of(process)

    assert talk(code, talking) == b"cut off False False\n"


@pytest.mark.parametrize(
    ("code", "limit", "limits"),
    [
        ("hoard = []\nwhile True: hoard.append(bytearray(8 << 20))", "memory", {"memory_mb": 128}),
        ("while True: pass", "cpu", {"cpu_seconds": 1}),
        ("import sys\nwhile True: sys.stderr.write('spam' * 1000)", "output", {"output_kb": 16}),
        (
            "import os\nwhile True:\n    try: os.fork()\n    except OSError: pass",
            "processes",
            {"processes": 40},
        ),
        (
            "i = 0\nwhile True:\n    i += 1\n    open(f'output/{i}', 'wb').write(bytes(1 << 20))\n",
            "disk",
            {"disk_mb": 8},
        ),
    ],
    ids=["memory", "cpu", "output", "processes", "disk"],
)
def test_limits_hold(talk, code: str, limit: str, limits: dict[str, int]):
    done = talk(code, to_the_end, **limits)

    assert (done.exit_code < 0, done.limit) == (True, limit)


def test_memory_that_is_only_reserved_is_free_to_those_that_may(
    provider: SandboxProvider, workspace: Workspace
):
    reserve = "import mmap; mmap.mmap(-1, 64 << 30, mmap.MAP_PRIVATE, 0); print('reserved')"
    hoard = "hoard = []\nwhile True: hoard.append(bytearray(8 << 20))"

    async def run() -> tuple[bytes, Completed]:
        async with provider.open(workspace, Resources(memory_mb=128)) as sandbox:
            python = [*sandbox.python(), "-c"]
            reserving = await sandbox.start([*python, reserve], reserves_memory=True)
            said = await line_of(reserving)
            hoarding = await sandbox.start([*python, hoard], reserves_memory=True)
            return said, await to_the_end(hoarding)

    said, hoarded = asyncio.run(run())
    assert said == b"reserved\n"
    assert (hoarded.exit_code, hoarded.limit) == (-9, "memory")


def test_wall_time_is_not_limited(talk):
    async def talking(process: Process) -> bytes:
        await asyncio.sleep(1)
        await process.write(b"still here\n")
        return await line_of(process)

    assert talk(UPPER, talking, wall_seconds=0.5) == b"STILL HERE\n"


def test_a_flood_waits_until_it_is_read(talk, workspace: Workspace):
    flood = (
        "import sys\n"
        "for i in range(300):\n"
        "    sys.stdout.write('spam' * 25_000); sys.stdout.flush()\n"
        "    open('output/count', 'w').write(str(i))\n"
    )

    async def talking(process: Process) -> tuple[int, int]:
        await asyncio.sleep(1.5)
        written = int((workspace.output / "count").read_text())
        total = 0
        while chunk := await process.read():
            total += len(chunk)
        return written, total

    written, total = talk(flood, talking)

    assert written < 50
    assert total == 30_000_000


def test_cancelling_the_start_at_any_moment_leaves_nothing(
    provider: SandboxProvider, workspace: Workspace, alive, eventually
):
    async def run(delay: float) -> None:
        async def inside() -> None:
            async with provider.open(workspace, Resources()) as sandbox:
                await sandbox.start(["sleep", "60.0227"])
                await asyncio.sleep(60)

        task = asyncio.create_task(inside())
        await asyncio.sleep(delay)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    for milliseconds in (0, 3, 10, 30):
        asyncio.run(run(milliseconds / 1000))
    assert eventually(lambda: not alive("60.0227"))


def test_a_kill_of_our_own_process_takes_the_program_along(alive, eventually, killed_while):
    inside = killed_while("await sandbox.start(argv); await asyncio.sleep(60)", "5518")

    assert eventually(lambda: not alive(inside))


@pytest.mark.parametrize("renewing", [True, False])
def test_cpu_time_adds_up_over_children_unless_it_is_renewed(talk, renewing: bool):
    """Each line costs half a second of a child that nobody waits for."""
    serve = (
        "import os, signal, sys, time\n"
        "signal.signal(signal.SIGCHLD, signal.SIG_IGN)\n"
        "for line in sys.stdin:\n"
        "    if os.fork() == 0:\n"
        "        while time.process_time() < 0.5: pass\n"
        "        print(line, end='', flush=True)\n"
        "        os._exit(0)\n"
    )

    async def talking(process: Process) -> Completed:
        for _ in range(4):
            if renewing and not await process.renew():
                break
            try:
                await process.write(b"go\n")
            except BrokenPipeError:
                break
            if not await process.read():
                break
        return await process.close(grace_seconds=10)

    assert talk(serve, talking, cpu_seconds=1).limit == (None if renewing else "cpu")
