"""Services over real sandboxes of both providers, and programs that use them."""

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from environments.ports import Completed
from environments.sandbox.providers import PROVIDERS, sandbox_provider
from environments.sandbox.workspace import new_workspace
from environments.services.kinds import KINDS
from environments.services.running import RunningServices, running_services
from environments.services.starting import ServiceHost
from taskdata.artifacts import ArtifactStore
from taskdata.schema.service import MailAccount, MailService, PostgresqlService, Service
from taskdata.schema.task import InputFile, Resources


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run a test that asks for a `provider` with each of them."""
    if "provider" in metafunc.fixturenames:
        marks = {"docker": [pytest.mark.docker]}
        names = [pytest.param(name, marks=marks.get(name, [])) for name in PROVIDERS]
        metafunc.parametrize("provider", names, indirect=True)


@pytest.fixture
def provider(request: pytest.FixtureRequest):
    """A provider that works here."""
    provider = sandbox_provider(request.param)
    if reason := provider.unavailable():
        pytest.skip(reason)
    return provider


@pytest.fixture
def bubblewrap():
    """Where one provider is enough."""
    provider = sandbox_provider("bubblewrap")
    if reason := provider.unavailable():
        pytest.skip(reason)
    return provider


@pytest.fixture(scope="session")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A state home; what takes long to make is made once for all tests."""
    return tmp_path_factory.mktemp("home")


@pytest.fixture
def servers_below() -> Callable[[Path], list[int]]:
    """Find the PostgreSQL servers over workspaces below a folder."""

    def look(folder: Path) -> list[int]:
        found = []
        for process in Path("/proc").glob("[0-9]*"):
            try:
                is_server = b"postgres\0-D\0" in (process / "cmdline").read_bytes()
                if is_server and str(folder) in (process / "mountinfo").read_text():
                    found.append(int(process.name))
            except OSError:
                continue
        return found

    return look


@pytest.fixture
def artifacts(tmp_path: Path) -> ArtifactStore:
    return ArtifactStore(f"file://{tmp_path}/artifacts")


@pytest.fixture
def stored(artifacts: ArtifactStore) -> Callable[[str, str | bytes], InputFile]:
    """Put a file into the artifact store."""

    def put(path: str, content: str | bytes) -> InputFile:
        data = content.encode() if isinstance(content, str) else content
        return InputFile(path=path, sha256=artifacts.put_bytes(data), size_bytes=len(data))

    return put


@pytest.fixture
def shop(stored) -> PostgresqlService:
    """A database with one table, as `pg_dump` writes it."""
    if reason := KINDS["postgresql"].missing():
        pytest.skip(reason)
    dump = (
        "CREATE TABLE orders (id serial PRIMARY KEY, item text NOT NULL, quantity int);\n"
        "COPY orders (id, item, quantity) FROM stdin;\n"
        "2\tpears\t3\n1\tapples\t\\N\n\\.\n"
        "SELECT setval('orders_id_seq', 2);\n"
    )
    return PostgresqlService(name="shop", files=(stored("dump.sql", dump),))


@pytest.fixture
def post(stored) -> MailService:
    """A mail server with two accounts and two messages."""
    hello = (
        b"From: bob@example.org\nTo: ann@example.org\nSubject: =?utf-8?q?Caf=C3=A9?=\n\nAt noon?\n"
    )
    old = b"From: bob@example.org\nSubject: Old\n\nDone.\n"
    return MailService(
        name="post",
        accounts=(MailAccount(address="ann@example.org"), MailAccount(address="bob@example.org")),
        files=(
            stored("ann@example.org/INBOX/1.eml", hello),
            stored("ann@example.org/Projects/2025/1.eml", old),
        ),
    )


class Night:
    """What a trial does with services: start them, run programs beside them, read the end."""

    def __init__(self, folder: Path, home: Path, artifacts: ArtifactStore) -> None:
        self.folder = folder
        self._home = home
        self._artifacts = artifacts

    def room(self, provider) -> ServiceHost:
        return ServiceHost(self._artifacts, provider, self.folder, self._home, "test")

    def running(self, provider, *services: Service):
        return running_services(services, self.room(provider))

    async def run(self, provider, running: RunningServices, code: str) -> Completed:
        with new_workspace(self.folder, {}) as workspace:
            opened = provider.open(workspace, Resources(), "test", running.exposed_ports)
            async with opened as sandbox:
                return await sandbox.run([*sandbox.python(), "-c", code])

    def over(self, provider, code: str, *services: Service) -> tuple[str, dict[str, str]]:
        """Return what a program printed, and the final state by file name."""

        async def trial() -> tuple[str, dict[str, str]]:
            async with self.running(provider, *services) as running:
                done = await self.run(provider, running, code)
                assert (done.exit_code, done.limit) == (0, None), done.stderr.decode()
                state = await running.final_state()
                assert state.missing == ()
                files = {file.name: file.path.read_text(errors="replace") for file in state.files}
                return done.stdout.decode(), files

        return asyncio.run(trial())


@pytest.fixture
def night(tmp_path: Path, kept: Path, artifacts: ArtifactStore) -> Iterator[Night]:
    """Afterwards nothing may be left of any service."""
    folder = tmp_path / "w"
    yield Night(folder, kept, artifacts)
    assert not folder.exists() or not list(folder.iterdir())
