"""The process of the project's own servers: Prefect's, and the one of dashboards.

Run as `python -m flows.serving.server_process PREFECT DASHBOARDS FOLDER`; the first two are the
numbers of the listening descriptors that it was handed. It watches the lock that its users hold
and stops when nobody holds it any more, so it survives neither a normal end nor a kill -9 of its
users.
"""

import fcntl
import os
import socket
import sys
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from flows.serving.ports import LOCAL_HOSTS

KEEP = "keep"
"""File that has the server stay without users."""

USERS = "users.lock"
"""File on which every user of the server holds a shared lock."""

_WATCH_SECONDS = 2.0

_PASSED_ON = (
    *("PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TZ", "TMPDIR"),
    *("VIRTUAL_ENV", "PYTHONPATH", "PYTHONHOME", "PYTHONWARNINGS", "LD_LIBRARY_PATH"),
    *("SSL_CERT_FILE", "SSL_CERT_DIR", "DO_NOT_TRACK"),
    # The list of dashboards is of what is stored.
    *("NIGHTSHIFT_HOME", "NIGHTSHIFT_DATABASE_URL"),
)
_PASSED_ON_BEGINNINGS = ("LC_", "XDG_", "PREFECT_")
_NOT_PASSED_ON = frozenset({"PREFECT_API_KEY"})


def server_environment(surrounding: Mapping[str, str], port: int, login: str) -> dict[str, str]:
    """Return the environment of the server: the variables that it needs, without any other key.

    Args:
        surrounding: Environment of its users.
        port: Where it listens.
        login: What its API asks for, `user:password`.
    """
    passed_on = {
        name: value
        for name, value in surrounding.items()
        if (name in _PASSED_ON or name.startswith(_PASSED_ON_BEGINNINGS))
        and name not in _NOT_PASSED_ON
    }
    origins = ",".join(f"http://{host}:{port}" for host in LOCAL_HOSTS)
    return passed_on | {
        "PREFECT_SERVER_API_AUTH_STRING": login,
        "PREFECT_API_AUTH_STRING": login,
        "PREFECT_SERVER_CORS_ALLOWED_ORIGINS": origins,
        # The UI asks the address that it was loaded from, also where a tunnel leads to it.
        "PREFECT_SERVER_UI_API_URL": "/api",
    }


def server_app() -> Any:
    """Return Prefect's server behind a check of the host that requests name.

    Without the check a page of any site could have its own name lead to this machine (DNS
    rebinding), and its requests would then be of the same origin as the UI's.
    """
    from prefect.server.api.server import create_app
    from starlette.middleware.trustedhost import TrustedHostMiddleware

    # Outside of Prefect's app: the server's own services ask that one under another name.
    return TrustedHostMiddleware(create_app(), allowed_hosts=LOCAL_HOSTS, www_redirect=False)


def _serve(prefect: int, dashboards: int, folder: Path) -> None:
    import uvicorn

    from flows.serving.dashboards import serve_dashboards

    config = uvicorn.Config(server_app, factory=True, log_level="warning")
    server = uvicorn.Server(config)
    os.umask(0o077)  # its database and logs are nobody else's
    watcher = threading.Thread(target=_stop_when_unused, args=(server, folder), daemon=True)
    watcher.start()
    pages = (socket.socket(fileno=dashboards), folder.parent)
    threading.Thread(target=serve_dashboards, args=pages, daemon=True).start()
    server.run(sockets=[socket.socket(fileno=prefect)])


def _stop_when_unused(server: "object", folder: Path) -> None:
    with (folder / USERS).open("a") as users:
        while True:
            time.sleep(_WATCH_SECONDS)
            if (folder / KEEP).exists():
                continue
            try:
                fcntl.flock(users, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                continue
            server.should_exit = True  # type: ignore[attr-defined]
            time.sleep(15)
            os._exit(0)  # open browser connections must not keep an unused server alive


if __name__ == "__main__":
    _serve(int(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3]))
