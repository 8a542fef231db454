"""The project's own local Prefect server: started on demand, shared, gone with its last user.

The user's own server, named by `PREFECT_API_URL`, takes its place.

Every command that needs the server holds a shared lock on one file, and the server process
(`flows.serving.server_process`) ends with the last of them, so two commands at once share it.
`--keep-server` tells it to stay, `serve --stop` to end with its users again.

Whoever may use Prefect's API may run code as the server's user, so the API asks for a login,
which lies in a file of the home that nobody else can read. Commands put it into their environment,
where Prefect's clients look for it: also those in flow runs, which are processes of their own.
"""

import fcntl
import importlib
import json
import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from filelock import FileLock

from flows.serving.dashboards import ADDRESS_VARIABLE
from flows.serving.ports import address_of, listening
from flows.serving.server_process import KEEP, USERS, server_environment
from flows.serving.tokens import login_file, login_of
from taskdata.errors import Misuse, NightshiftError
from taskdata.private_files import private_folder

_START_SECONDS = 120
_GIVEN = "PREFECT_API_URL"
_LOG = "server.log"
_LOGIN = "PREFECT_API_AUTH_STRING"

TAG = "nightshift"
"""Tag of our deployments and flow runs, since a Prefect server may have others as well."""

LEASES = "prefect.server.concurrency.lease_storage.filesystem"
"""Prefect's storage of who has a place among flow runs at once: files in `PREFECT_HOME`."""

_SETTINGS = {
    "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
    "PREFECT_SERVER_UI_SHOW_PROMOTIONAL_CONTENT": "false",
    "PREFECT_RUNNER_POLL_FREQUENCY": "2",
    # Prefect's own service removes old events by itself, old flow runs where it is told to.
    "PREFECT_SERVER_SERVICES_DB_VACUUM_ENABLED": "events,flow_runs",
    "PREFECT_SERVER_DEPLOYMENTS_CONCURRENCY_SLOT_WAIT_SECONDS": "10",
    # A night whose place was only in the memory of a server that is killed would be crashed.
    "PREFECT_SERVER_CONCURRENCY_LEASE_STORAGE": LEASES,
    "PREFECT_FLOWS_HEARTBEAT_FREQUENCY": "30",
    "PREFECT_LOGGING_EXTRA_LOGGERS": "flows,stages,environments,quality,dashboards,taskdata",
    "PREFECT_LOGGING_HANDLERS_CONSOLE_LEVEL": "ERROR",
    # What a Dask worker logs belongs to no flow run of this process.
    "PREFECT_LOGGING_TO_API_WHEN_MISSING_FLOW": "ignore",
    "DO_NOT_TRACK": "1",
}
"""What we want of Prefect where the user's environment says nothing else."""


class _Server(NamedTuple):
    """Our own server, by the addresses of its parts."""

    api: str
    dashboards: str


def _import_flows() -> None:
    importlib.import_module("flows.nightly")


@contextmanager
def prefect_server(
    home: Path,
    port: int,
    *,
    dashboard_port: int = 0,
    keep: bool = False,
    meanwhile: Callable[[], None] = _import_flows,
) -> Iterator[str]:
    """Yield the API URL of a healthy Prefect server, and put it into the environment.

    Our own serves the home's dashboards beside it; `PREFECT_API_URL` wins where it is set. Must be
    entered before the first `import prefect`, which reads the environment once. Flow runs that
    begin within the block are tagged as ours. `meanwhile` is called once, while a server starts
    where one has to; it may import Prefect.

    Raises:
        Misuse: if the user's own server is to be kept, which is not ours to end.
        NightshiftError: if our server does not come up; names its log. If the user's own cannot be
            used; names the cause.
    """
    given = given_server()
    if given is None:
        ports = (port, dashboard_port)
        with _own_server(home, ports, meanwhile, keep=keep) as url, _tagged():
            yield url
        return
    if keep:
        raise Misuse(f"the Prefect server is {_GIVEN}={given}: it stays without --keep-server")
    os.environ.update(_SETTINGS | os.environ)
    require_answer(given)
    meanwhile()
    with _tagged():
        yield given


@contextmanager
def _own_server(
    home: Path, ports: tuple[int, int], meanwhile: Callable[[], None], *, keep: bool
) -> Iterator[str]:
    folder = home.resolve() / "prefect"
    private_folder(home)
    private_folder(folder)
    # Commands share this lock until the server may end; `filelock` has exclusive locks alone.
    with (folder / USERS).open("a") as users:
        fcntl.flock(users, fcntl.LOCK_SH)
        server = _running(folder)
        if server is None:
            server = _start(folder, ports, meanwhile)
        else:
            os.environ.update(_environment(folder, server))
            meanwhile()
        if keep:
            (folder / KEEP).touch()
        yield server.api


@contextmanager
def _tagged() -> Iterator[None]:
    from prefect import tags

    with tags(TAG):
        yield


def given_server() -> str | None:
    """Return the API address of the user's own Prefect server, if the environment names one.

    Within `prefect_server` this is the address of the server in use, ours or the user's.
    """
    return os.environ.get(_GIVEN) or None


def opening_line() -> str:
    """Return the message to show before `prefect_server` is entered."""
    given = given_server()
    if given is None:
        return "Starting the local Prefect server (a minute on a first start) ..."
    return f"Connecting to the Prefect server {given} ({_GIVEN}) ..."


def require_answer(url: str) -> None:
    """Ask the user's own Prefect server for something, as flows will.

    Raises:
        NightshiftError: if it cannot be reached, refuses, or is none; names the cause.
    """
    fault = _fault(url)
    if fault is not None:
        cause = " ".join(str(fault).split())[:300]
        raise NightshiftError(
            f"Prefect server {_GIVEN}={url}: {type(fault).__name__}: {cause}; expected such as "
            "http://HOST:4200/api, with PREFECT_API_AUTH_STRING or PREFECT_API_KEY if it wants one"
        ) from fault


def _fault(url: str) -> Exception | None:
    from prefect import get_client
    from prefect.exceptions import PrefectHTTPStatusError
    from prefect.settings import PREFECT_API_URL, temporary_settings

    try:
        # Prefect may have been imported, and have read its settings, before the address was set.
        with temporary_settings({PREFECT_API_URL: url}), get_client(sync_client=True) as api:
            fault = api.api_healthcheck()
            if fault is None:
                api.read_automations_by_name(TAG)
    # It is a RuntimeError that the server's version does not fit, a ValueError that it is none.
    except (PrefectHTTPStatusError, RuntimeError, ValueError) as exc:
        return exc
    return fault


def let_go(home: Path) -> bool:
    """Have a kept server end with its last user; return whether one was kept."""
    keep = home.resolve() / "prefect" / KEEP
    was_kept = keep.exists()
    keep.unlink(missing_ok=True)
    return was_kept


def is_kept(home: Path) -> bool:
    """Return whether this home's server was told to stay without users."""
    return (home.resolve() / "prefect" / KEEP).exists()


def running_server(home: Path) -> str | None:
    """Return the UI address of this home's server if it is up, else None."""
    server = _running(home.resolve() / "prefect")
    return ui_url(server.api) if server else None


def join_running(home: Path) -> bool:
    """Have Prefect's clients in this process use the server that is up; return whether one is.

    Must be called before the first `import prefect`. The server may end at any time.
    """
    if given_server() is not None:
        os.environ.update(_SETTINGS | os.environ)
        return True
    folder = home.resolve() / "prefect"
    server = _running(folder)
    if server is not None:
        os.environ.update(_environment(folder, server))
    return server is not None


def ui_url(api_url: str) -> str:
    """Return the address of the UI that belongs to an API address."""
    return api_url.removesuffix("/").removesuffix("/api")


def ui_line(home: Path, api_url: str) -> str:
    """Return the message about the UI at an API address within `prefect_server`."""
    address = f"Prefect UI: {ui_url(api_url)}"
    is_ours = os.environ.get("PREFECT_HOME") == str(home.resolve() / "prefect")
    return f"{address} (login: in {login_file(home)})" if is_ours else address


def _environment(folder: Path, server: _Server) -> dict[str, str]:
    """Return the whole environment of what uses the server of that folder."""
    ours = {
        "PREFECT_HOME": str(folder),
        _GIVEN: server.api,
        _LOGIN: login_of(folder.parent),
        ADDRESS_VARIABLE: server.dashboards,
    }
    return _SETTINGS | os.environ | ours


def _running(folder: Path) -> _Server | None:
    try:
        known = json.loads((folder / "server.json").read_text())
        server, pid = _Server(str(known["api"]), str(known["dashboards"])), int(known["pid"])
    except (OSError, ValueError, KeyError, TypeError):
        return None  # never started, or written by a server that died while starting
    return server if _serves(pid, folder) and _healthy(server.api) else None


def _serves(pid: int, folder: Path) -> bool:
    """Whether that process is the server of this folder: its port may be another home's by now."""
    try:
        arguments = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return False
    return os.fsencode(folder) in arguments


def _healthy(url: str) -> bool:
    try:
        with urllib.request.urlopen(f"{url}/health", timeout=5) as reply:  # noqa: S310
            return bool(reply.status == 200)
    except (urllib.error.URLError, OSError):
        return False


def _start(folder: Path, ports: tuple[int, int], meanwhile: Callable[[], None]) -> _Server:
    # One starter at a time: a second command waits here and then finds the first one's server.
    with FileLock(folder / "start.lock", fallback_to_soft=False):
        found = _running(folder)
        if found:
            os.environ.update(_environment(folder, found))
            meanwhile()
            return found
        (folder / KEEP).unlink(missing_ok=True)
        # The sockets are bound here and handed over, so no other process can take a port.
        with listening(ports[0]) as prefect, listening(ports[1]) as dashboards:
            server = _Server(f"{address_of(prefect)}/api", address_of(dashboards))
            users = _environment(folder, server)
            process = _process(folder, users, prefect, dashboards)
        # Prefect reads it when it is imported, which may be now.
        os.environ.update(users)
        try:
            meanwhile()
            _await_health(process, server.api, folder / _LOG)
        except BaseException:
            # Other commands would not find this server, and another one may lack the database.
            process.kill()
            process.wait()
            raise
        known = server._asdict() | {"pid": process.pid}
        (folder / "server.json").write_text(json.dumps(known))
    return server


def _process(
    folder: Path, users: dict[str, str], prefect: socket.socket, dashboards: socket.socket
) -> "subprocess.Popen[bytes]":
    descriptors = (prefect.fileno(), dashboards.fileno())
    module = ("-m", "flows.serving.server_process")
    with (folder / _LOG).open("ab") as output:
        return subprocess.Popen(
            [sys.executable, *module, *map(str, descriptors), str(folder)],
            env=server_environment(users, prefect.getsockname()[1], users[_LOGIN]),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            pass_fds=descriptors,
        )


def _await_health(server: "subprocess.Popen[bytes]", url: str, log_file: Path) -> None:
    deadline = time.monotonic() + _START_SECONDS
    while not _healthy(url):
        if server.poll() is not None or time.monotonic() > deadline:
            raise NightshiftError(f"the Prefect server did not start; see {log_file}")
        time.sleep(0.25)
