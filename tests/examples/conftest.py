"""The scripted model behind a real port, and the seeds it was written for."""

import asyncio
import threading
from contextlib import contextmanager
from pathlib import Path

import pytest
from aiohttp import web

from examples.scripted_model.script import scripts
from examples.scripted_model.server import ScriptedModel
from taskdata.artifacts import sha256_of
from taskdata.schema.task import InputFile

SEEDS = Path(__file__).parents[2] / "taskdata" / "seeds"


@contextmanager
def _serving(model):
    loop = asyncio.new_event_loop()
    runner = web.AppRunner(model.app(), access_log=None)
    loop.run_until_complete(runner.setup())
    loop.run_until_complete(web.TCPSite(runner, "127.0.0.1", 0).start())
    thread = threading.Thread(target=loop.run_forever, name="scripted-model", daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}/v1"
    finally:
        asyncio.run_coroutine_threadsafe(runner.cleanup(), loop).result(10)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(10)
        loop.close()


@pytest.fixture(scope="session")
def serving():
    """A context that yields the base URL of a model, which answers in a thread of its own."""
    return _serving


@pytest.fixture(scope="session")
def base_url():
    with _serving(ScriptedModel(scripts())) as url:
        yield url


@pytest.fixture(scope="session")
def seeds_folder():
    return SEEDS


@pytest.fixture(scope="session")
def attachments():
    """The seeds' attachments by the names that drafts use, and their places by hash."""
    paths = {f"files/{path.name}": path for path in (SEEDS / "files").iterdir()}
    found = {
        name: InputFile(path=name, sha256=sha256_of(path), size_bytes=path.stat().st_size)
        for name, path in paths.items()
    }
    return found, {found[name].sha256: path for name, path in paths.items()}
