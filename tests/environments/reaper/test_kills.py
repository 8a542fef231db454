"""Workers are killed at random under load, and nothing of them is left.

For NIGHTSHIFT_KILL_SECONDS seconds, 20 unless told otherwise.
"""

import os
import random
import secrets
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

import environments
from environments.reaper.owner import base_folder, base_id
from environments.reaper.reap import reap
from environments.sandbox.providers import sandbox_provider

SECONDS = float(os.environ.get("NIGHTSHIFT_KILL_SECONDS", "20"))
WORKERS = 2


class Load:
    """Worker processes that are killed and started again."""

    def __init__(self, names: list[str], mark: str) -> None:
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


def _processes(*texts: str) -> Iterator[str]:
    wanted = [text.encode() for text in texts]
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            known = (folder / "cmdline").read_bytes() + (folder / "environ").read_bytes()
        except OSError:
            continue
        if any(text in known for text in wanted):
            yield folder.name


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


@pytest.mark.docker
def test_nothing_is_left_of_workers_that_are_killed_at_random(temporary: Path, eventually):
    names = [name for name in ("bubblewrap", "docker") if not sandbox_provider(name).unavailable()]
    if not names:
        pytest.skip("no sandbox works here")
    mark, seed = f"load-{secrets.token_hex(6)}", secrets.randbelow(1 << 32)
    chance = random.Random(seed)
    before = _engine_things("docker" in names)
    load = Load(names, mark)
    try:
        deadline = time.monotonic() + SECONDS
        while time.monotonic() < deadline:
            time.sleep(chance.uniform(0.3, 3.0))
            load.kill_one()
            reap()  # As the next stage would, while others still work.
    finally:
        load.kill_all()

    def left() -> dict[str, object]:
        reap()
        files = {str(path.relative_to(temporary)) for path in temporary.rglob("*")}
        base = base_folder().name
        return {
            "processes": set(_processes(mark, str(temporary))),
            "files": files - {base, f"{base}/id", f"{base}/docker"},
            **{
                kind: found - before[kind]
                for kind, found in _engine_things("docker" in names).items()
            },
        }

    # A container that the engine was asked for in the very last moment shows up a little later.
    assert eventually(lambda: not any(left().values())), (seed, left())
    assert load.kills >= WORKERS + SECONDS // 6
    assert load.rounds > 0, "the workers were killed before they did anything"
