"""Workers that are killed at random under load, and a count of what is left of them."""

import os
import random
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import environments
from environments.reaper.owner import base_folder, base_id
from environments.reaper.reap import reap

WORKERS = 2

_SECONDS_TO_SETTLE = 10.0


@dataclass(frozen=True)
class Killed:
    """What came of it."""

    kills: int
    rounds: int
    """Pairs of trials that the workers finished before they were killed."""
    left: dict[str, set[str]]
    """By kind: processes, files, and with Docker containers, networks and volumes."""


class _Load:
    """Worker processes that are killed and started again."""

    def __init__(self, names: Sequence[str], mark: str) -> None:
        script = Path(__file__).with_name("worker_under_load.py")
        self._command = [sys.executable, str(script), mark, *names]
        self._workers = [self._started() for _ in range(WORKERS)]
        self.rounds = 0
        self.kills = 0

    def _started(self) -> subprocess.Popen[bytes]:
        project = Path(environments.__file__).parent.parent
        return subprocess.Popen(
            self._command,
            stdout=subprocess.PIPE,
            cwd=project,
            env=os.environ | {"PYTHONPATH": str(project)},
        )

    def kill_one(self) -> None:
        self._kill(self._workers.pop(0))
        self._workers.append(self._started())

    def kill_all(self) -> None:
        while self._workers:
            self._kill(self._workers.pop())

    def _kill(self, worker: subprocess.Popen[bytes]) -> None:
        worker.kill()
        self.rounds += worker.communicate()[0].count(b"a round")
        # Any other code would be a failure of its own that the kills hide.
        assert worker.returncode == -9
        self.kills += 1


def killed_at_random(
    names: Sequence[str], seconds: float, temporary: Path, mark: str, seed: int
) -> Killed:
    """Kill workers at random for so long, and return what is left when all are dead.

    Args:
        names: Of the sandbox providers that the workers use.
        seconds: How long.
        temporary: The folder for temporary files of this process and of what it starts.
        mark: A text that no other process has in its command line.
        seed: Of the pauses between the kills.
    """
    chance = random.Random(seed)
    with_docker = "docker" in names
    before = _engine_things(with_docker)
    load = _Load(names, mark)
    try:
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            time.sleep(chance.uniform(0.3, 3.0))
            load.kill_one()
            reap()  # As the next stage would, while others still work.
    finally:
        load.kill_all()
    deadline = time.monotonic() + _SECONDS_TO_SETTLE
    while True:
        # A container that was asked for in the very last moment shows up a little later.
        reap()
        now = _engine_things(with_docker)
        left = {"processes": set(_processes(mark, str(temporary))), "files": _files(temporary)}
        left |= {kind: found - before[kind] for kind, found in now.items()}
        if not any(left.values()) or time.monotonic() > deadline:
            return Killed(load.kills, load.rounds, left)
        time.sleep(0.05)


def _processes(*texts: str) -> Iterator[str]:
    wanted = [text.encode() for text in texts]
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            known = (folder / "cmdline").read_bytes() + (folder / "environ").read_bytes()
        except OSError:
            continue
        if int(folder.name) != os.getpid() and any(text in known for text in wanted):
            yield folder.name


def _files(temporary: Path) -> set[str]:
    files = {str(path.relative_to(temporary)) for path in temporary.rglob("*")}
    base = base_folder().name
    return files - {base, f"{base}/id", f"{base}/docker"}


def _engine_things(with_docker: bool) -> dict[str, set[str]]:
    if not with_docker:
        return {}
    import docker

    ours = {"label": f"nightshift.base={base_id(base_folder())}"}
    with closing(docker.from_env()) as client:
        return {
            "containers": {
                str(found["Id"]) for found in client.api.containers(all=True, filters=ours)
            },
            "networks": {str(network["Id"]) for network in client.api.networks()},
            "volumes": {str(v["Name"]) for v in client.api.volumes()["Volumes"] or ()},
        }
