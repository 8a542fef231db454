"""Attacks that must fail, whoever makes the sandbox: contained, and told apart from our failures.

Those that exhaust something are in test_contract, what is left in output folders in test_collect.
"""

import asyncio
import os
import resource
import secrets
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from environments.ports import SandboxProvider, Workspace
from environments.sandbox import walking
from environments.sandbox.collect import collect
from environments.sandbox.workspace import new_workspace
from taskdata.schema.task import Resources


@pytest.fixture
def neighbour(tmp_path: Path) -> Iterator[Workspace]:
    with new_workspace(tmp_path, {"exam.txt": b"the neighbour's exam"}) as workspace:
        yield workspace


def test_neither_files_nor_processes_of_another_trial_can_be_reached(
    provider: SandboxProvider, workspace: Workspace, neighbour: Workspace
):
    mark = f"neighbour-{secrets.token_hex(8)}"
    code = (
        "import ctypes, os\n"
        # In two parts, or it would find itself.
        f"mark, found = {mark[:15]!r} + {mark[15:]!r}, []\n"
        "for top in ('/tmp', '/workspace', '/var', '/home', '/root', '/run', '/mnt', '/dev/shm'):\n"
        "    for folder, _, names in os.walk(top):\n"
        "        found += [n for n in names if n == 'exam.txt' or mark in n]\n"
        f"for place in ({str(neighbour.root)!r}, {str(neighbour.input / 'exam.txt')!r}):\n"
        "    if os.path.exists(place): found.append(place)\n"
        "pids = [int(name) for name in os.listdir('/proc') if name.isdigit()]\n"
        f"for pid in {{*pids, {os.getpid()}}} - {{os.getpid()}}:\n"
        "    for file in ('cmdline', 'environ'):\n"
        "        try: text = open(f'/proc/{pid}/{file}').read()\n"
        "        except OSError: continue\n"
        "        if mark in text: found.append(f'{pid} {file}')\n"
        "libc = ctypes.CDLL(None, use_errno=True)\n"
        f"print(found, {os.getpid()} in pids, libc.ptrace(0x4206, {os.getpid()}, 0, 0))\n"
        f"try: os.kill({os.getpid()}, 0)\n"
        "except ProcessLookupError: print('nobody there')\n"
    )

    async def run() -> bytes:
        async with (
            provider.open(neighbour, Resources()) as theirs,
            provider.open(workspace, Resources()) as ours,
        ):
            write = f"open('output/{mark}.txt', 'w'); print('up', flush=True); input()"
            process = await theirs.start([*theirs.python(), "-c", write])
            assert await process.read() == b"up\n"
            done = await ours.run([*ours.python(), "-c", code])
            assert done.exit_code == 0, done.stderr
            return done.stdout

    assert asyncio.run(run()) == b"[] False -1\nnobody there\n"


def test_no_datagram_name_or_local_socket_gets_out(run_python, tmp_path: Path):
    with ExitStack() as stack:
        datagrams = stack.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
        datagrams.bind(("0.0.0.0", 0))
        datagrams.setblocking(False)
        abstract = stack.enter_context(socket.socket(socket.AF_UNIX))
        name = f"nightshift-{secrets.token_hex(8)}"
        abstract.bind(f"\0{name}")
        abstract.listen()
        named = stack.enter_context(socket.socket(socket.AF_UNIX))
        named.bind(str(tmp_path / "s"))
        named.listen()
        done = run_python(
            "import socket\n"
            "def attempt(what, call):\n"
            "    try: call()\n"
            "    except OSError: print(what, 'refused')\n"
            "    else: print(what, 'WENT OUT')\n"
            "def unix(address):\n"
            "    socket.socket(socket.AF_UNIX).connect(address)\n"
            "def udp(host, port):\n"
            "    socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'hello', (host, port))\n"
            "def tcp(host, family=socket.AF_INET):\n"
            "    s = socket.socket(family); s.settimeout(2); s.connect((host, 80))\n"
            f"attempt('abstract', lambda: unix('\\0{name}'))\n"
            f"attempt('named', lambda: unix({str(tmp_path / 's')!r}))\n"
            "attempt('docker', lambda: unix('/var/run/docker.sock'))\n"
            "attempt('metadata', lambda: tcp('169.254.169.254'))\n"
            "attempt('metadata v6', lambda: tcp('fd00:ec2::254', socket.AF_INET6))\n"
            "attempt('udp', lambda: udp('8.8.8.8', 53))\n"
            "attempt('broadcast', lambda: udp('255.255.255.255', 9))\n"
            "attempt('dns', lambda: socket.getaddrinfo('example.com', 80))\n"
            "attempt('raw', lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, 1))\n"
            # Its own loopback takes it, and nobody is there.
            f"udp('127.0.0.1', {datagrams.getsockname()[1]})\n",
        )
        with pytest.raises(BlockingIOError):
            datagrams.recv(100)

    lines = done.stdout.decode().splitlines()
    assert len(lines) == 9, done.stderr
    assert all(line.endswith(" refused") for line in lines), lines


def test_limits_cannot_be_changed_from_inside(run_python):
    done = run_python(
        "import ctypes, os, resource\n"
        "def attempt(what, call):\n"
        "    try: call()\n"
        "    except (OSError, ValueError): pass\n"
        "    else: print(what)\n"
        "for name in ('CPU', 'FSIZE', 'NOFILE', 'CORE'):\n"
        "    kind = getattr(resource, 'RLIMIT_' + name)\n"
        "    _, hard = resource.getrlimit(kind)\n"
        "    attempt(name, lambda: resource.setrlimit(kind, (hard + 1, hard + 1)))\n"
        "    attempt(name, lambda: resource.prlimit(1, kind, (hard + 2, hard + 2)))\n"
        "for folder, _, names in os.walk('/sys/fs/cgroup'):\n"
        "    for name in names:\n"
        "        attempt(folder + name, lambda: open(os.path.join(folder, name), 'a'))\n"
        "    attempt(folder, lambda: os.mkdir(os.path.join(folder, 'mine')))\n"
        "def spare(): os.write(os.open('/proc/self/oom_score_adj', os.O_WRONLY), b'-1000')\n"
        "attempt('oom', spare)\n"
        "attempt('nice', lambda: os.nice(-5))\n"
        "real_time = os.sched_param(10)\n"
        "attempt('real time', lambda: os.sched_setscheduler(0, os.SCHED_FIFO, real_time))\n"
        "libc = ctypes.CDLL(None)\n"
        "print(libc.mount(b'x', b'/tmp', b'tmpfs', 0, b'size=1g'), libc.umount2(b'/tmp', 2))\n"
        "print(libc.mount(None, b'/', None, 32, None), libc.unshare(0x10000000))\n"
    )

    assert (done.exit_code, done.stdout) == (0, b"-1 -1\n-1 -1\n"), done.stderr


def test_a_gigabyte_of_output_costs_us_neither_memory_nor_time(run_python):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    done = run_python(
        "import os\nfor _ in range(1024): os.write(1, bytes(1 << 20))\nopen('output/done', 'w')\n",
        wall_seconds=30,
    )

    grown_kb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert (done.limit, len(done.stdout)) == ("output", 1024 * 1024)
    assert grown_kb < 64 * 1024
    assert done.seconds < 20


def test_only_plain_files_with_plain_names_come_out(run_python, workspace: Workspace):
    done = run_python(
        "import os\n"
        "os.chdir('output')\n"
        "open('fine.txt', 'w').write('fine')\n"
        "os.symlink('/etc/passwd', 'link'); os.symlink('/proc/self/root', 'folder')\n"
        "os.symlink('../input', 'loop')\n"
        "open('twin', 'w').write('x'); os.link('twin', 'other twin')\n"
        "os.mkfifo('fifo')\n"
        "with open('sparse', 'wb') as file: file.truncate(7 << 20)\n"
        "for name in (b'line\\nbreak', b'\\xff', b' padded', b'n' * 255, b'back\\\\slash',\n"
        "             '\\u202egpj.exe'.encode(), b'..\\\\..\\\\up', b'.. '):\n"
        "    open(name, 'wb').write(b'x')\n"
        "def attempt(what, call):\n"
        "    try: call()\n"
        "    except OSError: pass\n"
        "    else: print(what)\n"
        "attempt('hard link', lambda: os.link('../input/numbers.csv', 'numbers.csv'))\n"
        "attempt('device', lambda: os.mknod('device', 0o20666, os.makedev(1, 5)))\n"
        "attempt('up', lambda: open('../../up', 'w'))\n"
        "attempt('beside', lambda: open('../beside', 'w'))\n"
        "attempt('large', lambda: open('large', 'wb').truncate(10 << 40))\n",
        disk_mb=8,
    )
    assert (done.exit_code, done.stdout) == (0, b""), done.stderr

    collected = collect(workspace.output, Resources(disk_mb=1))

    assert [file.name for file in collected.files] == ["fine.txt", "large"]
    assert collected.files[0].path.read_text() == "fine"
    assert collected.files[1].path.stat().st_size == 0
    assert len(collected.rejected) == 15, collected.rejected
    assert all(line.isprintable() and line.isascii() for line in collected.rejected)
    assert sorted(path.name for path in workspace.root.iterdir()) == [
        "collected",
        "input",
        "output",
    ]


def test_a_flood_of_files_is_soon_over_and_soon_gone(
    provider: SandboxProvider, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    flood = (
        "import os\n"
        "folder = 'output'\n"
        "while True:\n"
        "    for i in range(1000): open(f'{folder}/{i}', 'w').close()\n"
        "    folder += '/d'; os.mkdir(folder)\n"
    )

    async def run(workspace: Workspace) -> object:
        async with provider.open(workspace, Resources(wall_seconds=60)) as sandbox:
            return (await sandbox.run([*sandbox.python(), "-c", flood])).limit

    monkeypatch.setattr(walking, "MAX_ENTRIES", 2_000)
    with new_workspace(tmp_path, {}) as workspace:
        assert asyncio.run(run(workspace)) == "disk"
        began = time.monotonic()
        collected = collect(workspace.output, Resources())
    assert time.monotonic() - began < 10
    assert len(collected.files) <= Resources().max_files
    assert collected.rejected
    assert list(tmp_path.iterdir()) == []
