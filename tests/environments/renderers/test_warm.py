"""A file that takes over what reads it spoils its own view, and nothing of any other file."""

import asyncio
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from environments.ports import Mount, Process, Sandbox
from environments.renderers import warm
from environments.renderers.render import Rendered
from environments.renderers.warm import WarmRenderers
from environments.sandbox.mounts import PACKAGES
from environments.sandbox.providers import sandbox_provider

OBEYS = """
import io, json, sys
from environments.renderers import worker

def says(text):
    view = {"kind": "text", "text": str(text)}
    sys.stdout.write("ready\\n" + json.dumps(view) + "\\nnull\\n")

def main():
    request = sys.stdin.read()
    text = open("input/" + json.loads(request)["name"]).read()
    if not text.startswith("#!"):
        sys.stdin = io.StringIO(request)
        return worker.main()
    exec(text, {"says": says})
"""
"""A reader that a file which begins with `#!` takes over."""

SERVER = "import os, resource, sys, time\nserver = os.getppid()\n"
"""The pid of the warm Python, as its calls see it."""


@dataclass
class Provider:
    """Bubblewrap whose reader obeys; counts what it starts."""

    reader: Path
    started: list[Process] = field(default_factory=list)

    @asynccontextmanager
    async def open(self, *arguments: Any) -> AsyncIterator[Sandbox]:
        async with sandbox_provider("bubblewrap").open(*arguments) as sandbox:
            start = sandbox.start

            async def started(argv: Sequence[str]) -> Process:
                mounts = [Mount(self.reader, f"{PACKAGES}/obeys.py")]
                self.started.append(await start(argv, mounts=mounts))
                return self.started[-1]

            sandbox.start = started
            yield sandbox


Read = Callable[[str], Awaitable[Rendered | None]]


@pytest.fixture
def in_turn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Render texts one after the other; returns their views and how many sandboxes it took."""
    reason = sandbox_provider("bubblewrap").unavailable()
    if reason:
        pytest.skip(reason)
    monkeypatch.setattr(warm, "_MODULE", "obeys")
    reader = tmp_path / "obeys.py"
    reader.write_text(OBEYS)

    def run(*texts: str) -> tuple[list[str | None], int]:
        async def inside() -> list[str | None]:
            renderers = WarmRenderers(provider, tmp_path / "workspaces", "test")
            assert await renderers.render("deliverable.txt", b"the first is alone") is None
            try:
                done = [await renderers.render("deliverable.txt", t.encode()) for t in texts]
            finally:
                await renderers.close()
            assert list((tmp_path / "workspaces").iterdir()) == []
            return [one.view.text if one else None for one in done]

        provider = Provider(reader)
        return asyncio.run(inside()), len(provider.started)

    return run


def test_files_are_rendered_in_one_sandbox_and_it_is_gone_afterwards(in_turn):
    assert in_turn("one", "two", "three") == (["one", "two", "three"], 1)
    children = [path.read_text() for path in Path("/proc/self/task").glob("*/children")]
    commands = [Path(f"/proc/{pid}/cmdline") for pid in " ".join(children).split()]
    assert not any(b"bwrap" in command.read_bytes() for command in commands if command.exists())


LOOK = SERVER + (
    "pids = {int(n) for n in os.listdir('/proc') if n.isdigit()}\n"
    "others = pids - {1, server, os.getpid()}\n"
    "left = [n for n in os.listdir('/tmp') if os.access(f'/tmp/{n}', os.W_OK)]\n"
    "found = os.listdir('/workspace/input'), os.listdir('/workspace/output')\n"
    "limits = resource.getrlimit(resource.RLIMIT_NOFILE), resource.getrlimit(resource.RLIMIT_AS)\n"
    "says((sorted(others), left, os.listdir('/dev/shm'), *found, limits, os.nice(0)))\n"
)
DAEMONS = (
    "for _ in range(9):\n"
    "    if os.fork() == 0:\n"
    "        os.setsid()\n"
    "        while True:\n"
    # It is never the same process for long.
    "            if os.fork(): os._exit(0)\n"
)
REQUESTS = "os.write(os.open('/proc/1/fd/0', os.O_WRONLY), b'0' * 32 + b'00000002{}')"
UNDONE = (
    DAEMONS,
    "os.makedirs('/tmp/a/b'); open('/dev/shm/c', 'w'); open('/tmp/d', 'w').write('x')",
)
NOT_UNDONE = (
    "open('output/deliverable.txt', 'w').write('x')",
    "os.chmod('output', 0)",
    "resource.prlimit(server, resource.RLIMIT_NOFILE, (8, 8))",
    "resource.prlimit(server, resource.RLIMIT_AS, (1 << 29, 1 << 29))",
    "os.setpriority(os.PRIO_PROCESS, server, 19)",
    # Only where we are not root ourselves does the first process belong to the same user.
    *([REQUESTS] if os.geteuid() else []),
)


def test_nothing_of_a_file_is_left_to_the_next(in_turn):
    attacks = [f"#!\n{SERVER}{attack}\nsays('mine')" for attack in (*UNDONE, *NOT_UNDONE)]
    views, started = in_turn("#!\n" + LOOK, *(t for a in attacks for t in (a, "#!\n" + LOOK)))
    assert views[1::2] == ["mine"] * len(attacks)
    assert views[0] is not None
    assert set(views[::2]) == {views[0]}
    assert started == 1 + len(NOT_UNDONE)


def test_a_file_does_not_find_what_was_read_in_another(in_turn):
    search = (
        "import re\n"
        "found = 0\n"
        "with open('/proc/self/mem', 'rb', 0) as memory:\n"
        "    for line in open('/proc/self/maps').read().splitlines():\n"
        "        low, high = (int(end, 16) for end in line.split()[0].split('-'))\n"
        "        try:\n"
        "            memory.seek(low)\n"
        "            found += len(re.findall(b's[e]cret-of-anothe[r]', memory.read(high - low)))\n"
        "        except (OSError, OverflowError): pass\n"
        "says(found)\n"
    )
    own = f"#!\nmine = 'secret-of-{{}}'.format('another')\n{search}"
    views, started = in_turn("secret-of-another " * 9_999, f"#!\n{search}", own)
    assert (views[1], started) == ("0", 1)
    # The search does find what is there.
    assert int(views[2] or 0) > 0


FORGED = 'b\'0\' * 32 + b\'{"state": "ended", "leaving": false}\\n\''
BREAKING = (
    f"os.write(os.open('/proc/1/fd/1', os.O_WRONLY), {FORGED}); time.sleep(1); says('mine')",
    "os.kill(server, 9); time.sleep(60)",
    "os.kill(server, 19)",
    "while True: sys.stdout.write('x' * 99_999)",
    "while True: pass",
    "sys.exit(3)",
    "sys.stdout.write('ready\\n'); raise ValueError",
    "sys.stdout.write('ready\\n{}\\nnull\\n')",
)


def test_what_breaks_something_is_rendered_alone_and_the_next_is_not(in_turn, monkeypatch):
    limits = {"cpu_seconds": 1, "wall_seconds": 3, "output_kb": 64}
    monkeypatch.setattr(warm, "WARM_RESOURCES", warm.WARM_RESOURCES.model_copy(update=limits))
    monkeypatch.setattr(warm, "_SECONDS_TO_KILL", 0.5)
    attacks = [f"#!\n{SERVER}{attack}" for attack in BREAKING]
    views, _ = in_turn(*(text for attack in attacks for text in (attack, "next")))
    assert views == [None, "next"] * len(attacks)


def test_a_sandbox_is_used_for_so_many_files(in_turn, monkeypatch):
    monkeypatch.setattr(warm, "_MOST_FILES", 2)
    assert in_turn(*"abcde") == (list("abcde"), 3)


@pytest.mark.parametrize(
    ("name", "is_quick"),
    [("a.XLSX", True), ("a.png", True), ("a.mp4", False), ("a.wav", False), ("a.exe", False)],
)
def test_what_starts_programs_of_its_own_is_not_quick(name: str, is_quick: bool):
    assert warm.is_quick(name) is is_quick
