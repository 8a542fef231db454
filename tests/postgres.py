"""A private PostgreSQL server for a session of tests, and stores on both engines."""

import glob
import os
import pwd
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from taskdata.store import Store, StoreAddress
from tests.ports import free_port


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    """A private PostgreSQL server from the machine's own binaries; yields its base URL."""
    binaries = sorted(glob.glob("/usr/lib/postgresql/*/bin"))
    if not binaries:
        pytest.skip("no PostgreSQL server binaries; install Debian's `postgresql`")
    user = "postgres" if os.geteuid() == 0 else pwd.getpwuid(os.geteuid()).pw_name
    prefix = ["runuser", "-u", user, "--"] if os.geteuid() == 0 else []
    # Not in pytest's own folder, which every other pytest that starts closes to all other accounts.
    folder = Path(tempfile.mkdtemp(prefix="nightshift-postgres-"))
    folder.chmod(0o755)
    data = folder / "data"
    data.mkdir()
    if prefix:
        shutil.chown(data, user)
    initdb = [*prefix, f"{binaries[-1]}/initdb", "-D", str(data), "-A", "trust", "-U", "postgres"]
    subprocess.run(initdb, check=True, capture_output=True, cwd="/")
    port = free_port()
    options = ["-D", str(data), "-p", str(port), "-k", str(data), "-c", "fsync=off"]
    server = subprocess.Popen(
        [*prefix, f"{binaries[-1]}/postgres", *options],
        cwd="/",
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        _wait_for_port(port, server)
        _wait_for_postgres(binaries[-1], port)
        yield f"postgresql://postgres@127.0.0.1:{port}"
    finally:
        server.terminate()
        server.wait(timeout=30)
        shutil.rmtree(folder)


def _wait_for_port(port: int, server: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and server.poll() is None:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    pytest.fail(f"PostgreSQL did not start on port {port}")


def _wait_for_postgres(binaries: str, port: int) -> None:
    """Wait until the server takes clients: it listens some time before that."""
    command = [f"{binaries}/pg_isready", "-q", "-h", "127.0.0.1", "-p", str(port)]
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        if subprocess.run(command, check=False).returncode == 0:
            return
        time.sleep(0.1)
    pytest.fail(f"PostgreSQL on port {port} takes no clients")


@pytest.fixture(scope="session")
def _postgres_names() -> Iterator[int]:
    return iter(range(10_000))  # type: ignore[return-value]


@pytest.fixture
def postgres_url(postgres_server: str, _postgres_names: Iterator[int]) -> str:
    """A new, empty database on the private server."""
    import psycopg

    name = f"night_{next(_postgres_names)}"
    with psycopg.connect(f"{postgres_server}/postgres", autocommit=True) as connection:
        connection.execute(f'CREATE DATABASE "{name}"')
    return f"{postgres_server}/{name}"


@pytest.fixture(scope="session")
def _migrated_postgres(postgres_server: str, tmp_path_factory: pytest.TempPathFactory) -> str:
    import psycopg

    with psycopg.connect(f"{postgres_server}/postgres", autocommit=True) as connection:
        connection.execute("CREATE DATABASE migrated")
    artifacts = tmp_path_factory.mktemp("migrated") / "artifacts"
    address = StoreAddress(
        database_url=f"{postgres_server}/migrated", artifacts_url=f"file://{artifacts}"
    )
    Store.open(address).close()
    return "migrated"


@pytest.fixture
def migrated_postgres_url(
    postgres_server: str, _migrated_postgres: str, _postgres_names: Iterator[int]
) -> str:
    """A new database of our newest schema, without rows, on the private server."""
    import psycopg

    name = f"night_{next(_postgres_names)}"
    with psycopg.connect(f"{postgres_server}/postgres", autocommit=True) as connection:
        connection.execute(f'CREATE DATABASE "{name}" TEMPLATE {_migrated_postgres}')
    return f"{postgres_server}/{name}"


_EACH = ["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)]


@pytest.fixture(params=_EACH)
def store_on_each(
    request: pytest.FixtureRequest,
    store_address: StoreAddress,
    open_store: Callable[[StoreAddress], Store],
) -> Iterator[Store]:
    """A store on SQLite, and in another test one on PostgreSQL."""
    if request.param == "postgres":
        url = request.getfixturevalue("migrated_postgres_url")
        store_address = store_address.model_copy(update={"database_url": url})
    store = open_store(store_address)
    yield store
    store.close()


@pytest.fixture(params=_EACH)
def empty_database(request: pytest.FixtureRequest, store_address: StoreAddress) -> StoreAddress:
    """The address of a database without tables: on SQLite, and in another test on PostgreSQL."""
    if request.param == "postgres":
        url = request.getfixturevalue("postgres_url")
        return store_address.model_copy(update={"database_url": url})
    return store_address
