"""The project's own local Prefect server: started on demand, shared, gone with its last user.

The user's own server, named by `PREFECT_API_URL`, takes its place.

Every command that needs the server holds a shared lock on one file. The server process itself
watches that lock and stops when nobody holds it any more, so it survives neither a normal end nor
a kill -9 of its users, and two commands at once share it. `--keep-server` tells it not to watch,
`serve --stop` to watch again.

Run as `python -m flows.serving.prefect_server SOCKET FOLDER` this module is that server process;
SOCKET is the number of the listening descriptor it was handed.
"""

import fcntl
import importlib
import json
import os
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from taskdata.errors import Misuse, NightshiftError

_START_SECONDS = 120
_WATCH_SECONDS = 2.0
_KEEP = "keep"
_BACKLOG = 2048
_GIVEN = "PREFECT_API_URL"

TAG = "nightshift"
"""On our deployments and on every flow run of ours, for a Prefect server has others, too."""

_SETTINGS = {
    "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
    "PREFECT_SERVER_UI_SHOW_PROMOTIONAL_CONTENT": "false",
    "PREFECT_RUNNER_POLL_FREQUENCY": "2",
    "PREFECT_FLOWS_HEARTBEAT_FREQUENCY": "30",
    "PREFECT_LOGGING_EXTRA_LOGGERS": "flows,stages,environments,quality,dashboards,taskdata",
    "PREFECT_LOGGING_HANDLERS_CONSOLE_LEVEL": "ERROR",
    "DO_NOT_TRACK": "1",
}
"""What we want of Prefect where the user's environment says nothing else."""


def _import_flows() -> None:
    importlib.import_module("flows.nightly")


@contextmanager
def prefect_server(
    home: Path,
    port: int,
    *,
    keep: bool = False,
    meanwhile: Callable[[], None] = _import_flows,
) -> Iterator[str]:
    """Yield the API URL of a healthy Prefect server, and put it into the environment.

    `PREFECT_API_URL` wins where it is set. Must be entered before the first `import prefect`,
    which reads the environment once. Flow runs that begin within the block are tagged as ours.
    `meanwhile` is called once, while a server starts where one has to; it may import Prefect.

    Raises:
        Misuse: if the user's own server is to be kept, which is not ours to end.
        NightshiftError: if our server does not come up; names its log. If the user's own cannot be
            used; names the cause.
    """
    given = given_server()
    if given is None:
        with _own_server(home, port, meanwhile, keep=keep) as url, _tagged():
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
    home: Path, port: int, meanwhile: Callable[[], None], *, keep: bool
) -> Iterator[str]:
    folder = home.resolve() / "prefect"
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "users.lock").open("a") as users:
        fcntl.flock(users, fcntl.LOCK_SH)
        url = _running(folder)
        if url is None:
            url = _start(folder, port, meanwhile)
        else:
            os.environ.update(_environment(folder, url))
            meanwhile()
        if keep:
            (folder / _KEEP).touch()
        yield url


@contextmanager
def _tagged() -> Iterator[None]:
    from prefect import tags

    with tags(TAG):
        yield


def given_server() -> str | None:
    """Return the API address of the user's own Prefect server, if the environment names one.

    Within `prefect_server` it names the one that is in use, whosever it is.
    """
    return os.environ.get(_GIVEN) or None


def opening_line() -> str:
    """Return what people are told before `prefect_server` is entered."""
    given = given_server()
    if given is None:
        return "Starting the local Prefect server (a minute on a first start) ..."
    return f"Connecting to the Prefect server {given} ({_GIVEN}) ..."


def require_answer(url: str) -> None:
    """Ask the user's own Prefect server for something, as flows will.

    Raises:
        NightshiftError: if it cannot be reached, refuses, or is none; names the cause.
    """
    fault = _fault()
    if fault is not None:
        cause = " ".join(str(fault).split())[:300]
        raise NightshiftError(
            f"Prefect server {_GIVEN}={url}: {type(fault).__name__}: {cause}; expected such as "
            "http://HOST:4200/api, with PREFECT_API_AUTH_STRING or PREFECT_API_KEY if it wants one"
        ) from fault


def _fault() -> Exception | None:
    from prefect import get_client
    from prefect.exceptions import PrefectHTTPStatusError

    try:
        with get_client(sync_client=True) as api:
            fault = api.api_healthcheck()
            if fault is None:
                api.read_automations_by_name(TAG)
    # It is a RuntimeError that the server's version does not fit, a ValueError that it is none.
    except (PrefectHTTPStatusError, RuntimeError, ValueError) as exc:
        return exc
    return fault


def let_go(home: Path) -> bool:
    """Let a server that was kept end with its last user; return whether one was kept."""
    keep = home.resolve() / "prefect" / _KEEP
    was_kept = keep.exists()
    keep.unlink(missing_ok=True)
    return was_kept


def running_server(home: Path) -> str | None:
    """Return the UI address of this home's server if it is up, else None."""
    url = _running(home.resolve() / "prefect")
    return ui_url(url) if url else None


def ui_url(api_url: str) -> str:
    """Return the address of the UI that belongs to an API address."""
    return api_url.removesuffix("/").removesuffix("/api")


def _environment(folder: Path, url: str) -> dict[str, str]:
    """Return the whole environment of what uses the server of that folder."""
    return _SETTINGS | os.environ | {"PREFECT_HOME": str(folder), _GIVEN: url}


def _running(folder: Path) -> str | None:
    try:
        known = json.loads((folder / "server.json").read_text())
        port, pid = int(known["port"]), int(known["pid"])
    except (OSError, ValueError, KeyError):
        return None  # never started, or written by a server that died while starting
    url = f"http://127.0.0.1:{port}/api"
    return url if _serves(pid, folder) and _healthy(url) else None


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


def _start(folder: Path, port: int, meanwhile: Callable[[], None]) -> str:
    # One starter at a time: a second command waits here and then finds the first one's server.
    with (folder / "start.lock").open("a") as starting:
        fcntl.flock(starting, fcntl.LOCK_EX)
        found = _running(folder)
        if found:
            os.environ.update(_environment(folder, found))
            meanwhile()
            return found
        (folder / _KEEP).unlink(missing_ok=True)
        log_file = folder / "server.log"
        # The socket is bound here and handed over: nobody can take the port in between.
        with _listening(port) as listener, log_file.open("ab") as output:
            port = listener.getsockname()[1]
            url = f"http://127.0.0.1:{port}/api"
            handed = str(listener.fileno())
            server = subprocess.Popen(
                [sys.executable, "-m", "flows.serving.prefect_server", handed, str(folder)],
                env=_environment(folder, url),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                pass_fds=(listener.fileno(),),
            )
        # Prefect reads it when it is imported, which may be now.
        os.environ.update(_environment(folder, url))
        try:
            meanwhile()
            _await_health(server, url, log_file)
        except BaseException:
            # Nobody would find it, and the next one may not have the database beside it.
            server.kill()
            server.wait()
            raise
        (folder / "server.json").write_text(json.dumps({"port": port, "pid": server.pid}))
    return url


def _await_health(server: "subprocess.Popen[bytes]", url: str, log_file: Path) -> None:
    deadline = time.monotonic() + _START_SECONDS
    while not _healthy(url):
        if server.poll() is not None or time.monotonic() > deadline:
            raise NightshiftError(f"the Prefect server did not start; see {log_file}")
        time.sleep(0.25)


def _listening(preferred: int) -> socket.socket:
    """Return a socket that listens on that port of this machine, else on any free one."""
    for port in (preferred, 0):
        listener = socket.socket()
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind(("127.0.0.1", port))
            listener.listen(_BACKLOG)
        except OSError:
            listener.close()
            continue
        return listener
    raise NightshiftError("no free port for the Prefect server on 127.0.0.1")


def _serve(descriptor: int, folder: Path) -> None:
    import uvicorn
    from prefect.server.api.server import create_app

    config = uvicorn.Config(create_app, factory=True, log_level="warning")
    server = uvicorn.Server(config)
    watcher = threading.Thread(target=_stop_when_unused, args=(server, folder), daemon=True)
    watcher.start()
    server.run(sockets=[socket.socket(fileno=descriptor)])


def _stop_when_unused(server: "object", folder: Path) -> None:
    with (folder / "users.lock").open("a") as users:
        while True:
            time.sleep(_WATCH_SECONDS)
            if (folder / _KEEP).exists():
                continue
            try:
                fcntl.flock(users, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                continue
            server.should_exit = True  # type: ignore[attr-defined]
            time.sleep(15)
            os._exit(0)  # open browser connections must not keep an unused server alive


if __name__ == "__main__":
    _serve(int(sys.argv[1]), Path(sys.argv[2]))
