"""What holds for bubblewrap beyond the contract: gaps that an engine would close by itself."""

import asyncio
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

import environments
import taskdata
from environments.sandbox.mounts import Mount, masked
from environments.sandbox.providers import sandbox_provider
from environments.sandbox.workspace import new_workspace
from taskdata.schema.task import Resources

PROJECT = Path(environments.__file__).parent.parent


def test_memory_that_no_process_has_mapped_cannot_be_had(bubblewrapped):
    done = bubblewrapped(
        "import ctypes, errno, os\n"
        "libc = ctypes.CDLL(None, use_errno=True)\n"
        "try: os.memfd_create('hoard')\n"
        "except OSError as error: print(errno.errorcode[error.errno])\n"
        "print(libc.shmget(0, 4096, 0o1600), errno.errorcode[ctypes.get_errno()])\n"
    )

    assert done.stdout == b"EPERM\n-1 EPERM\n"


def test_shared_memory_that_is_mapped_counts(bubblewrapped):
    done = bubblewrapped(
        "import mmap, time\n"
        "hoard = mmap.mmap(-1, 300 << 20)\n"
        "for page in range(0, 300 << 20, 4096): hoard[page] = 1\n"
        "time.sleep(30)\n",
        memory_mb=128,
        wall_seconds=20,
    )

    assert done.limit == "memory"


def test_memory_shared_by_forks_counts_once(bubblewrapped):
    done = bubblewrapped(
        "import os, time\n"
        "big = os.urandom(60 << 20)\n"
        "for _ in range(5):\n"
        "    if os.fork() == 0: time.sleep(0.6); os._exit(0)\n"
        "for _ in range(5): os.wait()\n"
        "print('fine')\n",
        memory_mb=128,
    )

    assert (done.limit, done.stdout) == (None, b"fine\n")


def test_no_namespaces_of_ones_own(bubblewrapped):
    done = bubblewrapped(
        "import ctypes, errno\n"
        "libc = ctypes.CDLL(None, use_errno=True)\n"
        "for flag in (0x10000000, 0x20000, 0x40000000):\n"
        "    print(libc.unshare(flag), errno.errorcode[ctypes.get_errno()])\n"
        "print(libc.syscall(56 if __import__('platform').machine() == 'x86_64' else 220,\n"
        "                   0x10000000 | 17, 0, 0, 0, 0), errno.errorcode[ctypes.get_errno()])\n"
    )

    assert done.stdout == b"-1 EPERM\n" * 4


def test_sockets_that_network_namespaces_do_not_cut_are_refused(bubblewrapped):
    done = bubblewrapped(
        "import socket\n"
        "for family in (40, 38, 17):\n"
        "    try: socket.socket(family, socket.SOCK_STREAM)\n"
        "    except OSError as error: print(error.errno)\n"
        "socket.socketpair(); socket.socket(); print('usual ones work')\n"
    )

    assert done.stdout == b"97\n97\n97\nusual ones work\n"


def test_threads_and_subprocesses_still_work(bubblewrapped):
    done = bubblewrapped(
        "import concurrent.futures as f, subprocess\n"
        "with f.ThreadPoolExecutor(8) as pool: print(sum(pool.map(int, '12345')))\n"
        "with f.ProcessPoolExecutor(2) as pool: print(sum(pool.map(int, '12345')))\n"
        "print(subprocess.check_output(['echo', 'hi']))\n"
    )

    assert done.stdout == b"15\n15\nb'hi\\n'\n", done.stderr


def test_deleted_files_that_are_still_open_count_as_disk(bubblewrapped):
    done = bubblewrapped(
        "import os, time\n"
        "files = [open(f'output/{i}', 'wb') for i in range(10)]\n"
        "for i, file in enumerate(files):\n"
        "    os.unlink(f'output/{i}'); file.write(b'x' * (1 << 20)); file.flush()\n"
        "time.sleep(30)\n",
        disk_mb=4,
        wall_seconds=20,
    )

    assert done.limit == "disk"


def test_a_flood_of_empty_files_in_tmp_is_stopped(bubblewrapped):
    done = bubblewrapped(
        "i = 0\nwhile True:\n    i += 1\n    open(f'/tmp/{i}', 'w').close()\n", wall_seconds=30
    )

    assert done.limit == "disk"


def test_tmp_is_small(bubblewrapped):
    done = bubblewrapped(
        "try:\n"
        "    for i in range(100): open(f'/tmp/{i}', 'wb').write(b'x' * (1 << 20))\n"
        "except OSError as error: print(i, error.errno)\n",
        disk_mb=8,
    )

    assert done.stdout in (b"7 28\n", b"8 28\n")


def test_the_program_inherits_no_descriptors(bubblewrapped):
    done = bubblewrapped("import os; print(sorted(os.listdir('/proc/self/fd'))[:3])")

    assert done.stdout == b"['0', '1', '2']\n"
    assert bubblewrapped("import os; os.fstat(3)").exit_code == 1


def test_hidden_folders_are_masked_where_a_mount_would_show_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    home = tmp_path / "lib" / "state"
    home.mkdir(parents=True)
    monkeypatch.setenv("NIGHTSHIFT_HOME", str(home))

    shown = masked([Mount(tmp_path / "lib", "/x/lib"), Mount(tmp_path / "bin", "/x/bin")])

    assert shown == ("/x/lib/state",)


def _python_of(user: int, packages: Path) -> list[str] | None:
    """A Python of our version that `user` may start with our libraries, None without one."""
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    drop = ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups"]
    for python in (sys.executable, f"/usr/bin/python{version}"):
        search = f"PYTHONPATH={PROJECT}:{packages}"
        command = [*drop, "env", "-i", "PYTHONDONTWRITEBYTECODE=1", search, python]
        tried = subprocess.run([*command, "-c", "import pydantic"], capture_output=True, cwd="/")
        if tried.returncode == 0:
            return command
    return None


@pytest.mark.skipif(os.geteuid() != 0, reason="the other tests run as an ordinary user already")
def test_an_ordinary_user_gets_sandboxes_too(bubblewrapped):
    packages = Path(sys.modules["pydantic"].__file__ or "").parent.parent
    command = _python_of(65534, packages)
    if command is None:
        pytest.skip("no Python that another user may start")
    script = Path(__file__).with_name("ordinary_user.py")

    done = subprocess.run([*command, str(script)], capture_output=True, text=True, cwd="/")

    assert done.stdout.split() == ["1000", "0", "True", "processes", "memory", "hello"], done.stderr


def test_a_wheel_install_hides_the_banks(tmp_path: Path):
    """The packages of an installed wheel lie where Python's own libraries are mounted from."""
    venv = tmp_path / "a venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(venv)], check=True)
    [site] = venv.glob("lib/python*/site-packages")
    (site / "libraries.pth").write_text(
        str(Path(sys.modules["pydantic"].__file__ or "").parents[1])
    )
    for room in (environments, taskdata):
        source = Path(room.__file__).parent
        shutil.copytree(source, site / source.name, ignore=shutil.ignore_patterns("banks"))
    (site / "taskdata" / "banks" / "starter").mkdir(parents=True)
    (site / "taskdata" / "banks" / "starter" / "solution.yaml").write_text("the answer")
    script = Path(__file__).with_name("wheel_install.py")

    done = subprocess.run(
        [str(venv / "bin" / "python"), "-P", str(script)],
        capture_output=True,
        text=True,
        cwd="/",
        env={name: value for name, value in os.environ.items() if name != "PYTHONPATH"},
    )

    assert done.stdout == "True []\n", done.stderr


def test_a_program_carries_its_run_on_the_host_and_does_not_see_it(tmp_path: Path):
    async def look() -> tuple[bytes, list[bytes]]:
        with new_workspace(tmp_path, {}) as workspace:
            provider = sandbox_provider("bubblewrap")
            async with provider.open(workspace, Resources(), "run-of-mine") as sandbox:
                started = await sandbox.start(["sleep", "20"])
                marked = [v for v in variables() if b"NIGHTSHIFT_RUN=run-of-mine" in v]
                await started.close()
                seen = await sandbox.run([*sandbox.python(), "-c", "import os; print(os.environ)"])
                return seen.stdout, marked

    def variables() -> Iterator[bytes]:
        for file in Path("/proc").glob("[0-9]*/environ"):
            with suppress(OSError):
                yield file.read_bytes()

    inside, marked = asyncio.run(look())
    assert marked
    assert b"NIGHTSHIFT" not in inside
