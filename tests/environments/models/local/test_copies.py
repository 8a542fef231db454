"""The servers of one local model share its requests."""

import asyncio

import pytest

from environments.models.local.copies import Copies
from environments.ports import Message, ModelReply, ModelRequest
from taskdata.errors import ModelUnavailable


class Server:
    """Answers when it is told to."""

    def __init__(self):
        self.asked, self.closed, self.may_answer = 0, False, asyncio.Event()

    async def reply(self, request):
        self.asked += 1
        await self.may_answer.wait()
        if request.messages[0].text == "fail":
            raise ModelUnavailable("gone")
        return ModelReply(text="yes", model="m")

    async def close(self):
        self.closed = True


def test_a_request_goes_to_the_server_with_least_to_do_and_a_failed_one_leaves_it_free():
    async def main():
        servers = [Server(), Server()]
        both = Copies(servers)
        said = [ModelRequest(messages=(Message("user", text),)) for text in ("fail", "b", "c")]
        first = [asyncio.create_task(both.reply(request)) for request in said[:2]]
        await asyncio.sleep(0)
        assert [one.asked for one in servers] == [1, 1]
        servers[0].may_answer.set()
        with pytest.raises(ModelUnavailable):
            await first[0]
        assert (await both.reply(said[2])).text == "yes"
        assert [one.asked for one in servers] == [2, 1]
        servers[1].may_answer.set()
        await first[1]
        await both.close()
        assert all(one.closed for one in servers)

    asyncio.run(main())
