"""Attacks on limits by what is not seen at once: space without writing, files without names, time.

What fills up in plain sight is in test_contract.
"""

import asyncio
import os
from pathlib import Path

import pytest

from environments.ports import SandboxProvider, Workspace
from environments.sandbox.limits import used_bytes
from taskdata.schema.task import Resources

MEGABYTE = 1 << 20
# All that a program can have written before it is killed, on a machine that is slow to look.
OVERSHOT_MEGABYTES = 600

RESERVE = """
import ctypes, fcntl, os, struct
libc = ctypes.CDLL(None, use_errno=True)
libc.fallocate.argtypes = [ctypes.c_int, ctypes.c_int, ctypes.c_int64, ctypes.c_int64]
file = os.open("output/file", os.O_CREAT | os.O_RDWR)
for mode in (0, 1, 0x10):
    print(libc.fallocate(file, mode, 0, 60 << 20), ctypes.get_errno())
space = struct.pack("=hhiqqIi16x", 0, 0, 0, 0, 60 << 20, 0, 0)
for command in (0x40305828, 0x4030582A, 0x40305839):
    for bits in (0, 1 << 32):
        libc.ioctl.argtypes = [ctypes.c_int, ctypes.c_ulong, ctypes.c_char_p]
        print(libc.ioctl(file, command | bits, space), ctypes.get_errno())
"""


def test_no_space_is_reserved_without_writing(run_python, workspace: Workspace):
    done = run_python(RESERVE)

    assert done.stdout == b"-1 95\n" * 9, done.stderr
    assert used_bytes(workspace.output) == 0


def test_libraries_that_reserve_space_write_instead(run_python, workspace: Workspace):
    done = run_python(
        "import os\n"
        "for i in range(100):\n"
        "    file = os.open(f'output/{i}', os.O_CREAT | os.O_RDWR)\n"
        "    os.posix_fallocate(file, 0, 60 << 20)\n",
        disk_mb=64,
    )

    assert done.limit == "disk"
    assert used_bytes(workspace.output) < (64 + OVERSHOT_MEGABYTES) * MEGABYTE


MAPPED = """
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, *[ctypes.c_size_t] * 5]
for i in range(40):
    file = os.open(f"output/{i}", os.O_CREAT | os.O_RDWR)
    os.unlink(f"output/{i}")
    for _ in range(50): os.write(file, bytes(1 << 20))
    assert libc.mmap(None, 50 << 20, 1, 2, file, 0) != ctypes.c_void_p(-1).value
    os.close(file)
    print(i, flush=True)
"""
SENT = """
import os, socket
here, there = socket.socketpair()
for i in range(40):
    file = os.open(f"output/{i}", os.O_CREAT | os.O_RDWR)
    os.unlink(f"output/{i}")
    for _ in range(50): os.write(file, bytes(1 << 20))
    socket.send_fds(here, [b"x"], [file])
    os.close(file)
    print(i, flush=True)
"""
HELD = """
import os
files = []
for i in range(40):
    files.append(os.open(f"output/{i}", os.O_CREAT | os.O_RDWR))
    os.unlink(f"output/{i}")
    for _ in range(50): os.write(files[-1], bytes(1 << 20))
    print(i, flush=True)
"""


@pytest.mark.parametrize("code", [MAPPED, SENT, HELD], ids=["mapped", "sent", "held"])
def test_files_without_a_name_take_space_all_the_same(run_python, code: str):
    if not Path("/proc/self/fdinfo").exists() or _linux() < (5, 7):
        pytest.skip("the kernel does not tell which descriptors are on their way")
    done = run_python(code, disk_mb=100)

    assert done.limit == "disk", done.stderr
    written = 50 * len(done.stdout.splitlines())
    assert written < 100 + 4 * 50 + OVERSHOT_MEGABYTES


def _linux() -> tuple[int, int]:
    major, minor = os.uname().release.split(".")[:2]
    return int(major), int(minor)


def test_a_file_that_many_share_counts_once(run_python):
    done = run_python(
        "import os, time\n"
        "file = os.open('output/it', os.O_CREAT | os.O_RDWR)\n"
        "os.unlink('output/it')\n"
        "os.write(file, bytes(30 << 20))\n"
        "children = [os.fork() for _ in range(3)]\n"
        "time.sleep(1)\n"
        "if all(children): print('fine')\n",
        disk_mb=64,
    )

    assert (done.limit, done.stdout) == (None, b"fine\n")


def test_many_open_files_do_not_hide_memory(bubblewrapped):
    """A look at them takes long; meanwhile memory grows until the program has all it wanted."""
    done = bubblewrapped(
        "import os, time\n"
        "for _ in range(40):\n"
        "    if os.fork() == 0:\n"
        "        for _ in range(480): os.open('/dev/null', 0)\n"
        "        time.sleep(60)\n"
        "time.sleep(1)\n"
        "hoard = []\n"
        "for _ in range(40):\n"
        "    hoard.append(b'x' * (32 << 20)); time.sleep(0.05); print('more', flush=True)\n",
        memory_mb=512,
    )

    assert done.limit == "memory"
    assert len(done.stdout.splitlines()) * 32 < 512 + 400


BURN = """
    end = time.process_time() + {}
    while time.process_time() < end: pass
    os._exit(0)
"""


@pytest.mark.parametrize(
    ("forget", "seconds"),
    [
        ("signal.signal(signal.SIGCHLD, signal.SIG_IGN)", 0.3),
        ("signal.signal(signal.SIGCHLD, signal.SIG_IGN)", 0.005),
        ("pass", 0.005),
    ],
    ids=["ignored", "ignored and short", "waited for"],
)
def test_children_use_up_cpu_time(run_python, forget: str, seconds: float):
    done = run_python(
        f"import os, signal, time\n{forget}\n"
        "while True:\n"
        "  child = os.fork()\n"
        "  if child == 0:" + BURN.format(seconds) + "  try: os.waitpid(child, 0)\n"
        "  except ChildProcessError: pass\n",
        cpu_seconds=1,
        wall_seconds=40,
    )

    assert done.limit == "cpu"


def test_programs_are_killed_before_the_host_when_memory_is_short(run_python):
    done = run_python("print(open('/proc/self/oom_score_adj').read())")

    assert done.stdout.split() == [b"1000"]


def test_a_folder_closed_to_us_is_a_full_disk(
    bubblewrap: SandboxProvider, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
):
    def closed(folder: Path, bounds: object) -> object:
        raise PermissionError(13, "Permission denied", str(folder))

    monkeypatch.setattr("environments.sandbox.limits.walk", closed)

    async def run() -> object:
        async with bubblewrap.open(workspace, Resources()) as sandbox:
            return (await sandbox.run(["/bin/sleep", "30"])).limit

    assert asyncio.run(run()) == "disk"
