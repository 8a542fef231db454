"""An installation as docs/production.md tells of it, whose parts can be killed and started again.

Every part is a process of its own: the database of both, the Prefect server, the Dask scheduler,
its workers, and `nightshift serve`.
"""

import glob
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import psycopg

from flows.serving.prefect_server import LEASES
from taskdata.store import Store, StoreAddress
from tests.ports import free_port

ROOT = Path(__file__).resolve().parents[2]
PARTS = ("worker", "scheduler", "server", "database", "serve")
"""In the order in which they are killed; started again, they come in that of `Installation`."""

_UNFINISHED = ("RUNNING", "PENDING", "CANCELLING")
_POSTGRES = ["-c", "fsync=off", "-c", "max_connections=200"]


@dataclass
class Part:
    """A program, and the process that runs it now."""

    command: list[str]
    environment: Mapping[str, str]
    process: subprocess.Popen[bytes] | None = None


@dataclass
class Installation:
    """All parts; those that are started later need those before."""

    folder: Path
    environment: Mapping[str, str]
    """Of the command."""
    ports: Mapping[str, int] = field(
        default_factory=lambda: {name: free_port() for name in ("database", "server", "scheduler")}
    )
    parts: dict[str, Part] = field(default_factory=dict)

    @property
    def api(self) -> str:
        return f"http://127.0.0.1:{self.ports['server']}/api"

    @property
    def home(self) -> Path:
        return self.folder / "home"

    @property
    def temporary(self) -> Path:
        return self.folder / "tmp"

    @property
    def database(self) -> str:
        return f"postgresql://postgres@127.0.0.1:{self.ports['database']}/nightshift"

    def store(self) -> Store:
        return Store(
            StoreAddress(database_url=self.database, artifacts_url=f"file://{self.home}/artifacts")
        )

    def start(self, name: str) -> None:
        part = self.parts[name]
        with (self.folder / f"{name}.log").open("ab") as log:
            part.process = subprocess.Popen(
                part.command,
                cwd="/" if name == "database" else self.folder,
                env=dict(part.environment),
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def kill(self, *names: str) -> None:
        """Kill these without warning: the workers with their nanny, of the others the part alone.

        A server of PostgreSQL takes the processes that it has begun with it.
        """
        for name in names:
            process = self.parts[name].process
            if process is None:
                continue
            with suppress(ProcessLookupError):
                if name in ("worker", "database"):
                    os.killpg(process.pid, signal.SIGKILL)
                else:
                    process.kill()
        for name in names:
            if (process := self.parts[name].process) is not None:
                process.wait(30)

    def start_again(self, *names: str) -> None:
        """Start these, each once what it needs answers, as `restart: unless-stopped` does."""
        for name in [part for part in self.parts if part in names]:
            self.start(name)
            self.await_answer(name)

    def keep_up(self, *names: str) -> None:
        """Start what has ended by itself, such as Dask workers that have lost their scheduler.

        Without names, of all parts.
        """
        for name in names or tuple(self.parts):
            process = self.parts[name].process
            if process is not None and process.poll() is not None:
                self.start(name)

    def await_answer(self, name: str) -> None:
        ends_at = time.monotonic() + 240
        while not self._answers(name):
            self.keep_up(name)
            assert time.monotonic() < ends_at, f"{name}: {self.said(name)}"
            time.sleep(0.5)

    def _answers(self, name: str) -> bool:
        if name == "database":
            with suppress(psycopg.OperationalError):
                psycopg.connect(self.database.replace("/nightshift", "/postgres")).close()
                return True
            return False
        if name == "server":
            with suppress(httpx.HTTPError):
                return httpx.get(f"{self.api}/health", timeout=5).status_code == 200
            return False
        return True

    def said(self, name: str) -> str:
        return (self.folder / f"{name}.log").read_text(errors="replace")[-3000:]

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        """Ask the Prefect server, again and again while it does not answer."""
        ends_at = time.monotonic() + 240
        while True:
            with suppress(httpx.TransportError):
                reply = httpx.request(method, f"{self.api}/{path}", json=body, timeout=30)
                if reply.status_code < 500:
                    return reply.raise_for_status().json()
            assert time.monotonic() < ends_at, self.said("server")
            time.sleep(1)

    def begin(self, deployment: str, parameters: Mapping[str, Any]) -> str:
        """Start a flow run; returns its id."""
        found = self.ask("GET", f"deployments/name/{deployment}")
        body = {"parameters": parameters}
        return str(self.ask("POST", f"deployments/{found['id']}/create_flow_run", body)["id"])

    def flow_runs(self) -> list[dict[str, Any]]:
        """Every flow run that is not waiting for its hour."""
        runs = self.ask("POST", "flow_runs/filter", {"sort": "START_TIME_DESC"})
        return [run for run in runs if run["start_time"] is not None]

    def state(self, flow_run: str) -> str:
        return str(self.ask("GET", f"flow_runs/{flow_run}")["state"]["type"])

    def click_retry(self, flow_run: str) -> None:
        """What Retry does in the UI."""
        body = {"state": {"type": "SCHEDULED", "name": "AwaitingRetry"}}
        self.ask("POST", f"flow_runs/{flow_run}/set_state", body)

    def at_work(self) -> list[str]:
        """Names of the flow runs that have a process, as far as the server knows."""
        return [r["name"] for r in self.flow_runs() if r["state"]["type"] in _UNFINISHED]

    def sandboxes(self) -> list[str]:
        """Programs in sandboxes."""
        return [line for line in self._command_lines() if "bwrap" in line.split(" ", 1)[0]]

    def left(self) -> list[str]:
        """Programs in sandboxes, or flow runs, that are still there."""
        engines = [line for line in self._command_lines() if "prefect.engine" in line]
        return [*self.sandboxes(), *engines]

    def _command_lines(self) -> list[str]:
        """Of all processes of this installation; sandboxes name the folder of a trial."""
        home, temporary = f"NIGHTSHIFT_HOME={self.home}\0".encode(), str(self.temporary).encode()
        found = []
        for folder in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                line = (folder / "cmdline").read_bytes()
                if temporary in line or home in (folder / "environ").read_bytes():
                    found.append(line.replace(b"\0", b" ").decode(errors="replace"))
        return found


@contextmanager
def installed(
    folder: Path, environment: Mapping[str, str], settings: str
) -> Iterator[Installation]:
    """Start an installation with such a `nightshift.toml`, and end all of it with the block."""
    made = Installation(folder, {**environment, "TMPDIR": str(folder / "tmp")})
    made.temporary.mkdir()
    data = Path(tempfile.mkdtemp(prefix="nightshift-postgres-"))
    _describe(made, data, settings)
    try:
        for name in made.parts:
            made.start(name)
            made.await_answer(name)
            if name == "database":
                _databases(made)
        yield made
    finally:
        made.kill(*reversed(made.parts))
        shutil.rmtree(data, ignore_errors=True)


def _describe(made: Installation, data: Path, settings: str) -> None:
    certificates = _certificates(made.folder)
    (made.folder / "nightshift.toml").write_text(
        f'database_url = "{made.database}"\ndask_scheduler = "tls://127.0.0.1:'
        f'{made.ports["scheduler"]}"\n[dask_tls]\n'
        + "".join(f'{name} = "{file}"\n' for name, file in certificates.items())
        + settings
    )
    theirs = {name: value for name, value in made.environment.items() if name != "NIGHTSHIFT_HOME"}
    prefect = theirs | {
        "PREFECT_HOME": str(made.folder / "prefect"),
        "PREFECT_API_DATABASE_CONNECTION_URL": "postgresql+asyncpg://postgres@127.0.0.1:"
        f"{made.ports['database']}/prefect",
        "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
        "PREFECT_SERVER_DEPLOYMENTS_CONCURRENCY_SLOT_WAIT_SECONDS": "10",
        "PREFECT_SERVER_CONCURRENCY_LEASE_STORAGE": LEASES,
    }
    dask = theirs | {"DASK_CONFIG": str(ROOT / "deploy" / "dask.yaml")}
    address = f"tls://127.0.0.1:{made.ports['scheduler']}"
    options = ["--no-dashboard"]
    for option, name in (
        ("--tls-ca-file", "ca_file"),
        ("--tls-cert", "cert"),
        ("--tls-key", "key"),
    ):
        options += [option, str(certificates[name])]
    python, port = [sys.executable, "-m"], str(made.ports["server"])
    scheduler = ["dask", "scheduler", "--host", "tls://127.0.0.1", "--port"]
    worker = ["dask", "worker", address, "--nworkers", "2", "--nthreads", "1"]
    made.parts |= {
        "database": Part(_postgres(data, made.ports["database"]), theirs),
        "server": Part(
            [*python, "prefect", "server", "start", "--host", "127.0.0.1", "--port", port], prefect
        ),
        "scheduler": Part([*python, *scheduler, str(made.ports["scheduler"]), *options], dask),
        "worker": Part([*python, *worker, *options], dask),
        "serve": Part(
            [*python, "flows.cli.app", "serve"], made.environment | {"PREFECT_API_URL": made.api}
        ),
    }


def _certificates(folder: Path) -> dict[str, Path]:
    page = (ROOT / "docs" / "production.md").read_text()
    (line,) = re.findall(r"^openssl .*$", page, re.MULTILINE)
    subprocess.run(shlex.split(line), cwd=folder, check=True, capture_output=True)
    return {
        name: folder / f"dask.{'key' if name == 'key' else 'pem'}"
        for name in ("ca_file", "cert", "key")
    }


def _postgres(data: Path, port: int) -> list[str]:
    """Make a database of the machine's own binaries; returns the command that serves it."""
    binaries = sorted(glob.glob("/usr/lib/postgresql/*/bin"))[-1]
    prefix = ["runuser", "-u", "postgres", "--"] if os.geteuid() == 0 else []
    data.chmod(0o700)
    if prefix:
        shutil.chown(data, "postgres")
    initdb = [f"{binaries}/initdb", "-D", str(data), "-A", "trust", "-U", "postgres"]
    subprocess.run(
        [*prefix, *initdb, "--encoding", "UTF8"], check=True, capture_output=True, cwd="/"
    )
    options = ["-D", str(data), "-p", str(port), "-k", str(data), *_POSTGRES]
    return [*prefix, f"{binaries}/postgres", *options]


def _databases(made: Installation) -> None:
    address = made.database.replace("/nightshift", "/postgres")
    with psycopg.connect(address, autocommit=True) as connection:
        for name in ("nightshift", "prefect"):
            connection.execute(f'CREATE DATABASE "{name}"')
