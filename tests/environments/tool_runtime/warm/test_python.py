"""When a Python stays, when it leaves, and what its host believes of what it says."""

import asyncio
import json
from collections.abc import Sequence
from typing import Any

import pytest

from environments.ports import Completed, Mount, SandboxFacts
from environments.tool_runtime.warm.frames import NONCE_BYTES
from environments.tool_runtime.warm.python import WarmPython
from taskdata.errors import SandboxFailed
from taskdata.schema.limits import EnforcedLimit, LimitName
from taskdata.schema.task import Resources
from tests.environments.tool_runtime.warm.conftest import Codes, Taken

LIMITS: tuple[LimitName, ...] = (
    "wall_seconds",
    "cpu_seconds",
    "memory_mb",
    "processes",
    "output_kb",
)


class Scripted:
    """A program that answers each request with what `say` makes of its nonce."""

    def __init__(self, say: Any) -> None:
        self._say = say
        self._answers: list[bytes] = []
        self.closed = False

    async def write(self, data: bytes) -> None:
        self._answers.append(self._say(data[:NONCE_BYTES].decode()))

    async def read(self) -> bytes:
        return self._answers.pop(0) if self._answers else b""

    async def renew(self) -> bool:
        return True

    async def close(self, grace_seconds: float = 0.0) -> Completed:
        self.closed = True
        return Completed(1, b"", b"Traceback\n", 9.0)


class Stage:
    """A sandbox of two programs: one that is started, and one that is run."""

    def __init__(self, process: Scripted | None, image: str | None = None, **limits: int) -> None:
        self._process = process
        resources = Resources.model_validate(limits)
        self._facts = SandboxFacts(
            tuple(
                EnforcedLimit(name=name, value=getattr(resources, name), by=("watch",))
                for name in LIMITS
            ),
            image,
        )
        self.started, self.ran = 0, 0

    def facts(self) -> SandboxFacts:
        return self._facts

    def python(self) -> Sequence[str]:
        return ("python3",)

    async def start(self, argv: Sequence[str], *, mounts: Sequence[Mount] = ()) -> Scripted:
        self.started += 1
        if self._process is None:
            raise SandboxFailed("this engine cannot")
        return self._process

    async def run(self, argv: Sequence[str], *, stdin: bytes = b"", **_: Any) -> Completed:
        self.ran += 1
        return Completed(0, b"alone", b"", 1.0)


def said(nonce: str, state: str, out: bytes = b"", **more: Any) -> bytes:
    line = {"state": state, "stdout_bytes": len(out), **more}
    return nonce.encode() + json.dumps(line).encode() + b"\n" + out


def honest(nonce: str) -> bytes:
    return said(nonce, "begun") + said(nonce, "ended", b"warm")


def call(stage: Stage, times: int = 1, load: Sequence[str] | None = ()) -> list[bytes]:
    async def run() -> list[bytes]:
        python = WarmPython(stage)
        return [(await python.run("m", "", load)).stdout for _ in range(times)]

    return asyncio.run(run())


def test_calls_are_served_by_what_was_started_once():
    stage = Stage(Scripted(honest))
    assert call(stage, 3) == [b"warm"] * 3
    assert (stage.started, stage.ran) == (1, 0)


def test_in_a_container_the_first_call_does_not_wait_for_a_second_one():
    assert call(Stage(Scripted(honest), image="sha256:1"), 3) == [b"alone", b"warm", b"warm"]


def test_what_runs_the_agents_code_is_always_alone():
    stage = Stage(Scripted(honest))
    assert call(stage, 2, load=None) == [b"alone"] * 2
    assert stage.started == 0


@pytest.mark.parametrize("limits", [{"processes": 8}, {"memory_mb": 256}, {"cpu_seconds": 5}])
def test_under_tight_limits_a_call_has_them_for_itself(limits: dict[str, int]):
    assert call(Stage(Scripted(honest), **limits)) == [b"alone"]


def test_an_engine_that_cannot_start_it_is_asked_once():
    stage = Stage(None)
    assert call(stage, 3) == [b"alone"] * 3
    assert stage.started == 1


def test_a_python_that_declines_is_not_asked_again():
    stage = Stage(Scripted(lambda nonce: said(nonce, "declined", leaving=True)))
    assert call(stage, 3) == [b"alone"] * 3
    assert stage.started == 1


@pytest.mark.parametrize(
    "forged",
    [
        said("0" * 32, "begun") + said("0" * 32, "ended", b"forged"),
        b"{}\n",
        b"x" * 5_000,
        b"a" * NONCE_BYTES + b'{"state": "ended", "stdout_bytes": -1}\n',
        b"",
    ],
    ids=["another nonce", "no fields", "no line", "a negative length", "nothing"],
)
def test_an_answer_without_the_nonce_of_the_request_is_not_believed(forged: bytes):
    process = Scripted(lambda nonce: forged + honest(nonce) if forged else b"")
    assert call(Stage(process)) == [b"alone"]
    assert process.closed


def test_an_answer_above_the_limit_is_not_waited_for():
    def boastful(nonce: str) -> bytes:
        return said(nonce, "begun") + said(nonce, "ended").replace(b": 0", b": 9000000000")

    assert call(Stage(Scripted(boastful))) == [b""]


def test_a_call_that_has_begun_is_not_made_twice_and_not_our_failure():
    stage = Stage(Scripted(lambda nonce: said(nonce, "begun")))

    async def run() -> Completed:
        return await WarmPython(stage).run("m", "", ())

    done = asyncio.run(run())

    assert (done.exit_code, stage.ran) == (-9, 0)
    assert done.seconds < 5


def test_two_calls_at_once_do_not_wait_for_each_other(warm):
    async def calling(call: Codes, taken: Taken) -> Any:
        # Alone it fails here, because only what is started has this module.
        slow = asyncio.create_task(call("import time; time.sleep(1); print('slow')"))
        await asyncio.sleep(0.1)
        fast = await call("print('fast')")
        return await slow, fast, taken.ran

    slow, fast, ran = warm(calling)

    assert (slow.stdout, ran) == (b"slow\n", 1)
    assert fast.exit_code == 1


def test_it_ends_when_nobody_asks_and_comes_back_when_somebody_does(warm):
    async def calling(call: Codes, taken: Taken) -> Any:
        await call("pass")
        while await taken.started[0].read():
            pass
        return await call("print('fine')"), len(taken.started), taken.ran

    done, started, ran = warm(calling, idle_seconds=0.5)

    assert (done.stdout, started, ran) == (b"fine\n", 2, 0)
