"""What every sandbox promises, whoever makes it."""

import asyncio
import shutil
import socket
import time
from pathlib import Path

import pytest

import taskdata
from environments.ports import SandboxProvider, Workspace
from environments.sandbox.providers import sandbox_provider
from taskdata.errors import Misuse, SandboxFailed
from taskdata.schema.task import Resources


def test_an_unknown_provider_is_misuse():
    with pytest.raises(Misuse, match=r"'chroot'.*bubblewrap, docker"):
        sandbox_provider("chroot")


def test_runs_python_and_returns_both_streams_and_the_exit_code(run_python):
    done = run_python(
        "import sys; print(sys.stdin.read().upper()); print('oops', file=sys.stderr); sys.exit(3)",
        stdin=b"hello",
    )

    assert (done.exit_code, done.limit) == (3, None)
    assert done.stdout == b"HELLO\n"
    assert done.stderr == b"oops\n"


def test_large_input_is_read_to_the_end(run_python):
    done = run_python("import sys; print(len(sys.stdin.read()))", stdin=b"x" * 3_000_000)

    assert done.stdout == b"3000000\n"


def test_unread_input_is_no_error(run_python):
    assert run_python("print(1)", stdin=b"x" * 3_000_000).stdout == b"1\n"


def test_a_missing_program_is_an_exit_code(provider: SandboxProvider, workspace: Workspace):
    async def run():
        async with provider.open(workspace, Resources()) as sandbox:
            return await sandbox.run(["no-such-program"])

    assert asyncio.run(run()).exit_code == 127


def test_a_signal_is_a_negative_exit_code(run_python):
    assert run_python("import os; os.kill(os.getpid(), 15)").exit_code == -15


def test_our_packages_and_the_libraries_of_the_tools_can_be_imported(run_python):
    done = run_python(
        "import environments.ports, taskdata.schema.task, taskdata.errors, os;"
        "import docx; print(os.getcwd())"
    )

    assert done.stdout == b"/workspace\n", done.stderr


def test_input_is_there_and_read_only(run_python, workspace: Workspace):
    done = run_python(
        "print(open('input/deep/er/note.txt').read())\n"
        "for path in ('input/numbers.csv', 'input/new', 'new', '/opt/nightshift/environments/x'):\n"
        "    try: open(path, 'a')\n"
        "    except OSError as error: print(error.errno)\n"
    )

    lines = done.stdout.decode().split()
    assert lines[0] == "hello"
    assert len(lines) == 5, lines
    assert (workspace.input / "numbers.csv").read_bytes() == b"a,b\n1,2\n"


def test_output_is_kept_and_tmp_is_not(provider: SandboxProvider, workspace: Workspace):
    async def run():
        async with provider.open(workspace, Resources()) as sandbox:
            write = "for p in ('output/a', '/tmp/a', '/dev/shm/a'): open(p, 'w').write('mine')"
            look = "import os; print([*map(os.path.exists, ('output/a', '/tmp/a', '/dev/shm/a'))])"
            wrote = await sandbox.run([*sandbox.python(), "-c", write])
            return wrote, await sandbox.run([*sandbox.python(), "-c", look])

    wrote, looked = asyncio.run(run())

    assert wrote.exit_code == 0, wrote.stderr
    assert looked.stdout == b"[True, False, False]\n"
    assert (workspace.output / "a").read_text() == "mine"


def test_the_system_is_read_only(run_python):
    done = run_python(
        "import os\n"
        "library = os.path.dirname(os.__file__)\n"
        "for folder in ('/', '/usr', '/etc', '/dev', '/workspace', '/opt', library):\n"
        "    try: open(folder + '/mine', 'w'); print('wrote', folder)\n"
        "    except OSError: pass\n"
        "for sysctl in ('kernel/core_pattern', 'vm/drop_caches', 'kernel/hostname'):\n"
        "    try: open('/proc/sys/' + sysctl, 'w'); print('opened', sysctl)\n"
        "    except OSError: pass\n"
    )

    assert (done.exit_code, done.stdout) == (0, b""), done.stdout


def test_there_is_no_network(run_python):
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        done = run_python(
            "import socket\n"
            f"for address in (('127.0.0.1', {port}), ('1.1.1.1', 53)):\n"
            "    try: socket.create_connection(address, 2); print('reached', address)\n"
            "    except OSError: print('cut off')\n"
            "print([name for _, name in socket.if_nameindex() if name != 'lo'])\n"
        )
    out = done.stdout.decode().splitlines()
    assert out[:2] == ["cut off", "cut off"]
    assert set(eval(out[2])) <= {"tunl0", "sit0", "gre0", "gretap0", "erspan0", "ip6tnl0"}


def test_nothing_of_our_environment_is_visible(run_python, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret")

    done = run_python(
        "import os\n"
        "print(sorted(os.environ))\n"
        "for pid in filter(str.isdigit, os.listdir('/proc')):\n"
        "    try: print(open(f'/proc/{pid}/environ', 'rb').read())\n"
        "    except OSError: pass\n"
    )

    assert b"secret" not in done.stdout
    assert b"NIGHTSHIFT" not in done.stdout
    assert b"'HOME', 'LANG'" in done.stdout


def test_the_host_is_out_of_sight(run_python, tmp_path: Path):
    secret = tmp_path / "secret.txt"
    secret.write_text("the answer")
    banks = Path(taskdata.__file__).parent / "banks"
    places = [secret, banks, Path.home() / ".ssh", Path("/run/docker.sock")]

    done = run_python(
        "import os, taskdata\n"
        f"places = {[str(place) for place in places]!r}\n"
        "places.append(os.path.dirname(taskdata.__file__) + '/banks')\n"
        "print(list(filter(os.path.exists, places)))\n"
        "print(len([p for p in os.listdir('/proc') if p.isdigit()]) < 8)\n"
    )

    assert done.stdout == b"[]\nTrue\n"


def test_programs_are_not_root_and_cannot_become_it(run_python):
    done = run_python(
        "import os\n"
        "status = dict(l.split(':', 1) for l in open('/proc/self/status').read().splitlines())\n"
        "print(os.getuid() != 0, os.getgid() != 0, os.getgroups() in ([], [os.getgid()]))\n"
        "print(int(status['CapEff'], 16), int(status['CapPrm'], 16), int(status['NoNewPrivs']))\n"
        "try: os.setuid(0)\n"
        "except OSError: print('refused')\n"
    )

    assert done.stdout == b"True True True\n0 0 1\nrefused\n"


def test_a_fork_bomb_is_stopped(run_python, alive):
    bomb = "import os\nwhile True:\n    try: os.fork()\n    except OSError: pass  # bomb-7391\n"

    done = run_python(bomb, processes=40, wall_seconds=20)

    assert done.limit == "processes"
    assert not alive("bomb-7391")


def test_eating_memory_is_stopped(run_python):
    done = run_python(
        "hoard = []\nwhile True: hoard.append(bytearray(8 << 20))", memory_mb=128, wall_seconds=20
    )

    assert (done.exit_code, done.limit) == (-9, "memory")


def test_many_processes_share_one_memory_limit(run_python):
    done = run_python(
        "import os, time\n"
        "for _ in range(4): \n"
        "    if os.fork() == 0: hoard = bytearray(60 << 20); time.sleep(30)\n"
        "os.wait(); os.kill(os.getpid(), 9)\n",
        memory_mb=128,
        wall_seconds=20,
    )

    assert (done.exit_code, done.limit) == (-9, "memory")


def test_filling_the_disk_is_stopped(run_python, workspace: Workspace):
    done = run_python(
        "i = 0\nwhile True:\n    i += 1\n    open(f'output/{i}', 'wb').write(b'x' * (1 << 20))\n",
        disk_mb=8,
        wall_seconds=20,
    )

    assert done.limit == "disk"


def test_a_full_disk_can_be_tidied_up_but_not_filled_further(
    provider: SandboxProvider, workspace: Workspace
):
    fill = (
        "i = 0\nwhile True:\n    i += 1\n    open(f'output/{i}.{N}', 'wb').write(bytes(1 << 20))\n"
    )
    tidy = (
        "import os, time\n"
        "time.sleep(0.5)\n"
        "for name in os.listdir('output'): os.unlink('output/' + name)\n"
        "print(os.listdir('output'))\n"
    )

    async def run():
        async with provider.open(workspace, Resources(disk_mb=8)) as sandbox:
            python = [*sandbox.python(), "-c"]
            filled = [await sandbox.run([*python, f"N = {n}\n{fill}"]) for n in range(2)]
            return [done.limit for done in filled], await sandbox.run([*python, tidy])

    limits, tidied = asyncio.run(run())
    assert limits == ["disk", "disk"]
    assert (tidied.limit, tidied.stdout) == (None, b"[]\n")


def test_one_large_file_cannot_be_written(run_python, workspace: Workspace):
    done = run_python("open('output/big', 'wb').write(b'x' * (20 << 20))", disk_mb=8)

    assert done.exit_code != 0
    assert (workspace.output / "big").stat().st_size <= 8 << 20


def test_a_flood_of_files_is_stopped(run_python):
    done = run_python(
        "i = 0\nwhile True:\n    i += 1\n    open(f'output/{i}', 'w').close()\n", wall_seconds=20
    )

    assert done.limit == "disk"


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_endless_output_is_stopped(run_python, stream: str):
    done = run_python(
        f"import sys\nwhile True: sys.{stream}.write('spam' * 1000)", output_kb=16, wall_seconds=20
    )

    assert done.limit == "output"
    assert len(getattr(done, stream)) == 16 * 1024


def test_wall_time_is_limited(run_python, alive):
    done = run_python(
        "import time; print('up', flush=True); time.sleep(60)  # nap-5562", wall_seconds=2
    )

    assert (done.exit_code, done.limit, done.stdout) == (-9, "wall", b"up\n")
    assert 2 <= done.seconds < 30
    assert not alive("nap-5562")


def test_a_call_can_shorten_the_wall_time_but_not_lengthen_it(
    provider: SandboxProvider, workspace: Workspace
):
    async def run(allowed: float, asked: float):
        async with provider.open(workspace, Resources(wall_seconds=allowed)) as sandbox:
            return await sandbox.run(["sleep", "30"], wall_seconds=asked)

    for allowed, asked in ((30, 0.5), (0.5, 30)):
        done = asyncio.run(run(allowed, asked))
        assert done.limit == "wall"
        assert done.seconds < 20


def test_cpu_time_is_limited(run_python):
    done = run_python("while True: pass", cpu_seconds=1, wall_seconds=20)

    assert done.limit == "cpu"
    assert done.seconds < 20


def test_a_daemon_left_behind_is_gone_when_the_call_returns(run_python, alive):
    done = run_python(
        "import os, time\n"
        "if os.fork() == 0:\n"
        "    os.setsid()\n"
        "    if os.fork() == 0: time.sleep(60)  # daemon-8814\n"
        "    os._exit(0)\n"
        "print('left')\n",
        wall_seconds=20,
    )

    assert (done.exit_code, done.stdout, done.limit) == (0, b"left\n", None)
    assert done.seconds < 30
    assert not alive("daemon-8814")


def test_killing_everything_in_sight_harms_nobody_else(
    provider: SandboxProvider, workspace: Workspace
):
    async def run():
        async with provider.open(workspace, Resources()) as sandbox:
            killer = "import os; os.kill(os.getppid(), 9); os.kill(-1, 9); print('alive')"
            await sandbox.run([*sandbox.python(), "-c", killer], wall_seconds=3)
            return await sandbox.run([*sandbox.python(), "-c", "print('next')"])

    assert asyncio.run(run()).stdout == b"next\n"


def test_the_sandbox_works_on_after_a_limit(provider: SandboxProvider, workspace: Workspace):
    async def run():
        async with provider.open(workspace, Resources()) as sandbox:
            await sandbox.run(["sleep", "30"], wall_seconds=0.3)
            return await sandbox.run(["echo", "still here"])

    assert asyncio.run(run()).stdout == b"still here\n"


def test_programs_may_be_started_at_once(provider: SandboxProvider, workspace: Workspace):
    async def run():
        async with provider.open(workspace, Resources()) as sandbox:
            calls = (sandbox.run(["echo", str(i)], stdin=b"x") for i in range(4))
            return await asyncio.gather(*calls)

    assert [done.stdout for done in asyncio.run(run())] == [b"0\n", b"1\n", b"2\n", b"3\n"]


def test_cancelling_leaves_nothing(
    provider: SandboxProvider, workspace: Workspace, alive, eventually
):
    nap = "import time; time.sleep(60)  # cancelled-2207"

    async def sleep_inside():
        async with provider.open(workspace, Resources()) as sandbox:
            await sandbox.run([*sandbox.python(), "-c", nap])

    async def run():
        task = asyncio.create_task(sleep_inside())
        assert await asyncio.to_thread(eventually, lambda: alive("cancelled-2207"))
        task.cancel()
        began = time.monotonic()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert not alive("cancelled-2207")
        assert time.monotonic() - began < 30

    asyncio.run(run())


def test_cancelling_at_any_moment_of_the_start_leaves_nothing(
    provider: SandboxProvider, workspace: Workspace, alive, eventually
):
    async def run(delay: float):
        async def inside():
            async with provider.open(workspace, Resources()) as sandbox:
                await sandbox.run(["sleep", "60.0119"])

        task = asyncio.create_task(inside())
        await asyncio.sleep(delay)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    for milliseconds in (0, 1, 3, 6, 10, 20):
        asyncio.run(run(milliseconds / 1000))
    assert eventually(lambda: not alive("60.0119"))


def test_a_kill_of_our_own_process_takes_the_sandbox_along(alive, eventually, killed_while):
    inside = killed_while("await sandbox.run(argv)", "4410")

    assert eventually(lambda: not alive(inside))


def test_a_lost_workspace_is_our_failure_and_not_the_programs(
    provider: SandboxProvider, workspace: Workspace
):
    async def run():
        async with provider.open(workspace, Resources()) as sandbox:
            await sandbox.run(["true"])

    shutil.rmtree(workspace.input)

    with pytest.raises(SandboxFailed, match=r"input"):
        asyncio.run(run())
