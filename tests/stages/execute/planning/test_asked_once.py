"""Equal requests of several trials: one asks, the others find its reply."""

import asyncio
from contextlib import contextmanager

import pytest

from environments.ports import Message, ModelReply, ModelRequest
from stages.execute.planning.asked_once import AskedOnce

REQUEST = ModelRequest((Message("user", "Plan."),))


class Recorded:
    """A client that finds a reply once it has been asked for, after a while."""

    def __init__(self) -> None:
        self.asked = 0
        self._kept: ModelReply | None = None

    def shared_key(self, request: ModelRequest) -> str:
        return "ab" * 32

    async def reply(self, request: ModelRequest) -> ModelReply:
        if self._kept is None:
            self.asked += 1
            await asyncio.sleep(0.05)
            self._kept = ModelReply("A plan.", "m")
        return self._kept


class Served:
    """A store whose database has locks."""

    is_served = True

    def __init__(self) -> None:
        self.held: set[str] = set()

    @contextmanager
    def hold(self, name: str):
        is_ours = name not in self.held
        if is_ours:
            self.held.add(name)
        try:
            yield is_ours
        finally:
            if is_ours:
                self.held.remove(name)


class Unserved:
    is_served = False


@pytest.mark.parametrize("store", [Served(), Unserved()], ids=["server", "files"])
def test_the_first_asks_and_the_others_wait(store, tmp_path):
    recorded = Recorded()

    async def all_of_them() -> list[ModelReply]:
        clients = [AskedOnce(recorded, store, tmp_path / "home") for _ in range(4)]
        return await asyncio.gather(*(client.reply(REQUEST) for client in clients))

    replies = asyncio.run(all_of_them())
    assert recorded.asked == 1
    assert {reply.text for reply in replies} == {"A plan."}
    assert max(reply.waited_seconds for reply in replies) >= 0.05


@pytest.mark.parametrize("store", [Served(), Unserved()], ids=["server", "files"])
def test_a_trial_that_is_stopped_lets_the_others_go_on(store, tmp_path):
    recorded = Recorded()
    first, second = (AskedOnce(recorded, store, tmp_path / "home") for _ in range(2))

    async def stopped() -> ModelReply:
        asking = asyncio.create_task(first.reply(REQUEST))
        while not recorded.asked:
            await asyncio.sleep(0.001)
        asking.cancel()
        return await second.reply(REQUEST)

    assert asyncio.run(stopped()).text == "A plan."
    assert recorded.asked == 2
