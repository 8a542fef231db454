"""Services start together, are healthy or stop the trial, and belong to one trial alone."""

import asyncio
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from environments.reaper.reap import reap
from environments.services import running as running_module
from environments.services.kinds import KINDS, service_state
from taskdata.errors import ServiceFailed

pytestmark = pytest.mark.postgres

ADD = (
    "import psycopg\n"
    "with psycopg.connect() as c: c.execute(\"INSERT INTO orders (item) VALUES ('{}')\")"
)

WORKER = """
import asyncio, sys
from pathlib import Path
from environments.reaper.owner import working_folder
from environments.sandbox.providers import sandbox_provider
from environments.services.live import live_services
from environments.services.running import running_services
from environments.services.starting import ServiceHost
from taskdata.artifacts import ArtifactStore
from taskdata.schema.service import PostgresqlService

async def serve(artifacts, home, service, how):
    with working_folder() as folder:
        provider = sandbox_provider("bubblewrap")
        room = ServiceHost(ArtifactStore(artifacts), provider, folder, Path(home), "run")
        services = [PostgresqlService.model_validate_json(service)]
        started = {
            "trial": lambda: running_services(services, room),
            "scoring": lambda: live_services(services, ["shop"], None, 60, room),
        }
        async with started[how]():
            print("healthy", flush=True)
            await asyncio.sleep(60)

asyncio.run(serve(*sys.argv[1:]))
"""


def test_services_of_two_trials_do_not_see_each_other(provider, night, shop, post):
    async def trial(item: str, meeting: asyncio.Barrier) -> str:
        async with night.running(provider, shop, post) as running:
            done = await night.run(provider, running, ADD.format(item))
            assert done.exit_code == 0, done.stderr
            await meeting.wait()
            state = await running.final_state()
            await meeting.wait()
            [orders] = [f for f in state.files if f.name == "services/shop/orders.csv"]
            return orders.path.read_text()

    async def both() -> list[str]:
        meeting = asyncio.Barrier(2)
        return await asyncio.gather(trial("plums", meeting), trial("figs", meeting))

    plums, figs = asyncio.run(both())

    assert ("plums" in plums, "figs" in plums) == (True, False)
    assert ("plums" in figs, "figs" in figs) == (False, True)


def test_without_its_exposed_ports_a_sandbox_reaches_no_service(bubblewrap, night, shop):
    async def trial() -> bytes:
        async with night.running(bubblewrap, shop):
            none = running_module.RunningServices(())
            return (await night.run(bubblewrap, none, ADD.format("plums"))).stderr

    assert b"connection" in asyncio.run(trial())


def test_a_service_that_is_not_healthy_in_time_stops_the_trial(
    bubblewrap, night, shop, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(running_module, "READY_SECONDS", 0.01)

    with pytest.raises(ServiceFailed, match=r"'shop' was not ready within 0\.01 s"):
        night.over(bubblewrap, "", shop)


def test_a_program_that_does_not_start_says_why(
    bubblewrap, night, post, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(type(KINDS["mail"]), "program", "environments.services.inside.nothing")

    with pytest.raises(ServiceFailed, match=r"'post' ended with code 1: .*nothing"):
        night.over(bubblewrap, "", post)


def test_a_service_used_beyond_its_limits_has_no_final_state(
    bubblewrap, night, shop, monkeypatch: pytest.MonkeyPatch
):
    small = running_module.RESOURCES.model_copy(update={"disk_mb": 80})
    monkeypatch.setattr(running_module, "RESOURCES", small)
    fill = (
        "import psycopg\n"
        "with psycopg.connect() as c:\n"
        "    c.execute('CREATE TABLE big AS '\n"
        "        'SELECT md5(i::text) FROM generate_series(1, 4000000) i')\n"
    )

    async def trial() -> tuple[int, tuple[str, ...]]:
        async with night.running(bubblewrap, shop) as running:
            done = await night.run(bubblewrap, running, fill)
            return done.exit_code, (await running.final_state()).missing

    code, missing = asyncio.run(trial())

    assert code != 0
    assert missing == (
        "services/shop: there is no final state, for it was stopped at its limit of disk",
    )


def test_a_service_that_lives_but_fails_to_tell_has_no_final_state(bubblewrap, night, shop):
    async def trial() -> running_module.FinalState:
        async with night.running(bubblewrap, shop) as running:
            [data] = night.folder.rglob("output/data")
            data.with_name("state").write_text("in the way of the folder")
            return await running.final_state()

    state = asyncio.run(trial())

    assert state.files == ()
    [line] = state.missing
    expected = "services/shop: there is no final state, for service 'shop' failed: "
    assert line.startswith(expected)
    assert "File exists" in line


def test_a_service_that_takes_too_long_to_tell_has_no_final_state(
    bubblewrap, night, shop, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    monkeypatch.setattr(running_module, "STATE_SECONDS", 0.001)

    async def trial() -> running_module.FinalState:
        async with night.running(bubblewrap, shop) as running:
            return await running.final_state()

    state = asyncio.run(trial())

    assert state.files == ()
    [line] = state.missing
    expected = "services/shop: there is no final state, for service 'shop' was not done within"
    assert line.startswith(expected)
    assert line in caplog.messages


def test_a_service_that_is_lost_otherwise_is_a_failure(bubblewrap, night, shop, servers_below):
    async def trial() -> None:
        async with night.running(bubblewrap, shop) as running:
            # The server alone; its program goes on and finds it gone.
            [server] = servers_below(night.folder)
            os.kill(server, signal.SIGKILL)
            await running.final_state()

    with pytest.raises(ServiceFailed, match="'shop' was lost: "):
        asyncio.run(trial())


def test_facts_name_the_servers(bubblewrap, night, shop, post):
    async def trial():
        async with night.running(bubblewrap, shop, post) as running:
            return running.facts

    database, mail = asyncio.run(trial())

    assert (database.name, database.kind, mail.kind) == ("shop", "postgresql", "mail")
    assert database.version[0].isdigit()
    assert mail.version.startswith("aiosmtpd ")


@pytest.mark.parametrize("how", ["trial", "scoring"])
def test_nothing_is_left_when_the_worker_is_killed(
    night, shop, artifacts, kept: Path, tmp_path: Path, servers_below, eventually, monkeypatch, how
):
    folder = tmp_path / "t"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setattr(tempfile, "tempdir", None)
    worker = subprocess.Popen(
        [sys.executable, "-c", WORKER, artifacts.url, str(kept), shop.model_dump_json(), how],
        stdout=subprocess.PIPE,
    )
    with worker:
        assert worker.stdout is not None
        assert worker.stdout.readline() == b"healthy\n"
        assert servers_below(folder)
        worker.kill()

    assert eventually(lambda: not servers_below(folder))
    reap()
    assert not [path for path in folder.rglob("*") if path.name != "id" and path.is_file()]


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_tells_whether_it_can_run_here(kind: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(type(KINDS[kind]), "missing", lambda _: "needs x: install x")

    assert service_state(kind) == "needs x: install x"
    assert service_state(kind, "docker") == "ready"
