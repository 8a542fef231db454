"""Marks of living processes, and what becomes of them."""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import environments
from environments.reaper.owner import (
    base_folder,
    base_id,
    owners,
    taken_lock,
    this_process,
    working_folder,
)
from taskdata.errors import SandboxFailed

PROJECT = Path(environments.__file__).parent.parent


def test_a_working_folder_goes_with_its_block_and_leaves_no_mark():
    with working_folder() as folder:
        (folder / "file").write_text("x")
        assert folder.stat().st_mode & 0o077 == 0
    assert list(base_folder().iterdir()) == []


def test_a_failure_within_leaves_nothing_either():
    with pytest.raises(ZeroDivisionError), working_folder():
        raise ZeroDivisionError

    assert list(base_folder().iterdir()) == []


def test_blocks_within_one_process_share_its_mark():
    with this_process() as outer:
        with this_process() as inner:
            assert inner == outer
        assert owners(base_folder()) == [outer]
        assert outer.folder.is_dir()

    assert not outer.lock.exists()


def test_a_mark_is_used_once():
    with this_process() as first:
        pass
    with this_process() as second:
        pass

    assert first.name != second.name
    assert first.name.split("-")[0] == str(os.getpid())


def test_many_threads_may_come_and_go():
    def come_and_go(_: int) -> bool:
        for _ in range(20):
            with working_folder() as folder:
                assert folder.is_dir()
        return True

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(come_and_go, range(8)))
    assert list(base_folder().iterdir()) == []


def test_the_lock_is_held_while_the_owner_lives():
    with this_process() as owner:
        assert taken_lock(owner) is None


def test_a_forked_child_neither_holds_nor_removes_what_is_its_parents():
    code = (
        "import os\n"
        "from environments.reaper.owner import owners, base_folder, taken_lock, this_process\n"
        "with this_process() as owner:\n"
        "    done, tell = os.pipe()\n"
        "    if os.fork() == 0:\n"
        "        with this_process() as other: assert other != owner\n"
        "        os.write(tell, b'x')\n"
        "        os.read(0, 1)\n"
        "        os._exit(0)\n"
        "    os.read(done, 1)\n"
        "    assert owner.folder.is_dir()\n"
        "    print(owner.name, flush=True)\n"
        "    os.kill(os.getpid(), 9)\n"
    )
    parent = subprocess.Popen(
        [sys.executable, "-c", code],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=PROJECT,
    )
    assert parent.stdout is not None
    name = parent.stdout.readline().strip()
    assert parent.wait() == -9
    try:
        [owner] = owners(base_folder())
        descriptor = taken_lock(owner)
        assert (owner.name, descriptor is not None) == (name, True)
        os.close(descriptor or 0)
    finally:
        parent.communicate()  # Closes the pipe that the child waits for.


def test_the_id_of_the_base_folder_stays():
    assert base_id(base_folder()) == base_id(base_folder())
    assert [file.name for file in base_folder().iterdir()] == ["id"]


def test_a_base_folder_of_somebody_else_is_refused(temporary: Path):
    (temporary / "elsewhere").mkdir()
    (temporary / f"nightshift-{os.geteuid()}").symlink_to(temporary / "elsewhere")

    with pytest.raises(SandboxFailed, match=r"not a folder of this user's alone.*TMPDIR"):
        base_folder()


def test_a_base_folder_that_others_may_enter_is_refused():
    base_folder().chmod(0o755)

    with pytest.raises(SandboxFailed, match=r"not a folder of this user's alone"):
        base_folder()
