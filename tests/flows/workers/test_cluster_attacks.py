"""Attacks on the local cluster: who reaches a scheduler or a worker can run code on it."""

import asyncio
import urllib.error
import urllib.request

import pytest
from distributed import Security, rpc

from flows.config import Settings
from flows.workers.clusters import client


@pytest.fixture(scope="module")
def connected(tmp_path_factory):
    with client(Settings(home=tmp_path_factory.mktemp("home")), workers=1) as found:
        found.wait_for_workers(1)
        yield found


def addresses(connected):
    """Of the scheduler, its worker, and the nanny that starts it."""
    workers = connected.scheduler_info(n_workers=-1)["workers"]
    nannies = {told["nanny"] for told in workers.values()}
    return [connected.scheduler.address, *workers, *nannies]


async def identity(address, security, seconds):
    """What the process at that address says of itself, to whoever may speak to it."""
    arguments = security.get_connection_args("client") if security else {}
    async with rpc(address, timeout=seconds, connection_args=arguments) as remote:
        return await remote.identity()


@pytest.mark.parametrize("which", [0, 1, 2])
def test_who_has_no_certificate_of_the_cluster_is_refused(connected, which):
    address = addresses(connected)[which]
    assert address.startswith("tls://127.0.0.1:")
    assert asyncio.run(identity(address, connected.security, 60))["id"]
    plain = address.replace("tls", "tcp", 1)
    for asked, security in ((address, Security.temporary()), (plain, None)):
        with pytest.raises(OSError, match=r"established|Timed out|closed"):
            asyncio.run(identity(asked, security, 2))


def test_the_processes_tell_nothing_to_browsers(connected):
    told = connected.scheduler_info(n_workers=-1)
    ports = [told["services"]["dashboard"]]
    ports += [worker["services"]["dashboard"] for worker in told["workers"].values()]
    for port in ports:
        for page in ("/json/identity.json", "/info/main/workers.html", "/health", "/metrics"):
            with pytest.raises(urllib.error.HTTPError, match="404"):
                urllib.request.urlopen(f"http://127.0.0.1:{port}{page}", timeout=5)


def test_the_key_is_in_no_environment_or_argument(connected):
    def seen():
        from pathlib import Path

        return Path("/proc/self/environ").read_text() + Path("/proc/self/cmdline").read_text()

    (told,) = connected.run(seen).values()
    assert "PATH=" in told
    assert "PRIVATE KEY" not in told
