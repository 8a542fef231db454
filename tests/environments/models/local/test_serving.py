import asyncio
import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from environments.models.faults import ConversationTooLong
from environments.models.local import serving as local
from environments.models.local.serving import local_model_server
from environments.models.registry import ModelClients
from environments.ports import Message, ModelRequest
from taskdata.errors import ModelUnavailable
from taskdata.schema.agent import ModelSpec

SMOL = ModelSpec(provider="local", model="smollm2-135m")
COLOUR = {
    "type": "object",
    "properties": {"colour": {"enum": ["red", "green"]}},
    "required": ["colour"],
    "additionalProperties": False,
}


def test_a_real_small_model_answers_counts_and_follows_a_schema(tmp_path: Path):
    async def talk(base_url: str):
        async with ModelClients() as clients:
            client = clients.get(SMOL, base_url)
            question = (Message("user", "Which colour is grass? Answer in JSON."),)
            plain = ModelRequest(messages=question, max_tokens=8, temperature=0)
            shaped = ModelRequest(messages=question, max_tokens=32, json_schema=COLOUR)
            answers = await asyncio.gather(client.reply(plain), client.reply(shaped))
            with pytest.raises(ConversationTooLong):
                await client.reply(ModelRequest(messages=(Message("user", "word " * 6000),)))
            return answers

    with local_model_server(tmp_path / "a home") as base_url:
        plain, shaped = asyncio.run(talk(base_url))

    assert plain.text
    assert plain.model == "smollm2-135m"
    assert plain.usage.input_tokens > 5
    assert 0 < plain.usage.output_tokens <= 8
    assert plain.cost_usd == 0
    assert json.loads(shaped.text)["colour"] in ("red", "green")


def _listens(base_url: str) -> bool:
    import urllib.error
    import urllib.request

    try:
        urllib.request.urlopen(base_url.removesuffix("/v1") + "/health", timeout=2).close()
    except urllib.error.URLError:
        return False
    return True


def test_the_server_ends_with_the_block(tmp_path: Path):
    with contextlib.suppress(ZeroDivisionError), local_model_server(tmp_path) as base_url:
        assert _listens(base_url)
        raise ZeroDivisionError

    assert not _listens(base_url)


def test_the_server_dies_with_a_parent_that_is_killed(tmp_path: Path):
    program = (
        "import sys, time\n"
        "from pathlib import Path\n"
        "from environments.models.local.serving import local_model_server\n"
        "with local_model_server(Path(sys.argv[1])) as url:\n"
        "    print(url, flush=True)\n"
        "    time.sleep(600)\n"
    )
    parent = subprocess.Popen(
        [sys.executable, "-c", program, str(tmp_path)],
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(local.__file__).parents[2],
    )
    base_url = parent.stdout.readline().strip()
    assert _listens(base_url)

    os.kill(parent.pid, signal.SIGKILL)
    parent.wait()
    parent.stdout.close()

    deadline = time.monotonic() + 10
    while _listens(base_url):
        assert time.monotonic() < deadline, "the model server outlived its parent"
        time.sleep(0.1)


def test_a_server_that_cannot_load_its_file_says_where_to_look(tmp_path: Path):
    (broken := tmp_path / "broken.gguf").write_bytes(b"not a model")

    with (
        pytest.raises(ModelUnavailable, match=r"local_model\.log"),
        local_model_server(tmp_path, str(broken)),
    ):
        pass
