"""PostgreSQL: the distribution's own server, over a copy of a cluster that is made once.

`initdb` takes longer than everything else, so its result is kept in the state home for each server
version, and unpacked for each trial. So is the cluster of a large database, filled.
"""

import asyncio
import fcntl
import hashlib
import os
import secrets
import shutil
import tempfile
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

from environments.ports import Mount, Sandbox, Workspace
from environments.sandbox.walking import opened, opened_folder
from environments.services.inside.template import (
    EMPTY,
    FILLED,
    KEPT_MOUNT,
    TEMPLATE,
    TEMPLATE_MOUNT,
)
from environments.services.postgresql_binaries import MISSING, newest_binaries
from environments.services.program import Program, ServiceStopped
from environments.services.server import ScriptSettings, Variables
from taskdata.errors import ServiceFailed
from taskdata.schema.service import HOST, SCRIPT_ROLE, PostgresqlService

_FOLDER = "services"
_MADE_AS = 2
"""Changes whenever clusters are made in another way."""
_SECONDS = 600.0
"""Time to make a cluster, and to fill it with a large database."""
_WAIT_SECONDS = 0.1
_LARGE = 1 << 20
"""Bytes of scripts from which on a database has a cluster of its own in the state home: running
them takes longer than unpacking it, and tasks of one pool often share them."""


class Postgresql:
    """Runs PostgreSQL servers; implements the `Server` protocol."""

    program = "environments.services.inside.postgresql"
    sockets = ("postgresql/.s.PGSQL.5432",)

    def missing(self) -> str | None:
        """Return that no server is installed below /usr, which sandboxes see; None if one is."""
        return MISSING if newest_binaries() is None else None

    def settings(self, service: PostgresqlService) -> dict[str, Any]:
        """Return the database and its role, and whether the database is filled already."""
        settings = service.model_dump(include={"database", "user", "password"})
        return settings | {"is_filled": _is_large(service)}

    def variables(self, service: PostgresqlService, ports: Sequence[int]) -> tuple[Variables, ...]:
        """Return the variables that libpq reads."""
        return (_variables(service, ports[0], service.user, service.password),)

    def for_scripts(
        self, service: PostgresqlService, ports: Sequence[int], seconds: int, *, is_kept: bool
    ) -> ScriptSettings:
        """Return a role of the programs' own, for which a statement may take `seconds`."""
        password = secrets.token_hex(16)
        access = {
            "database": service.database,
            "user": service.user,
            "user_password": service.password,
            "role": SCRIPT_ROLE,
            "password": password,
            "seconds": seconds,
        }
        settings = self.settings(service) | {"access": access, "is_kept": is_kept}
        dsn = f"postgresql://{SCRIPT_ROLE}:{password}@{HOST}:{ports[0]}/{service.database}"
        variables = _variables(service, ports[0], SCRIPT_ROLE, password)
        return ScriptSettings(settings, ((*variables, ("DATABASE_URL", dsn)),))

    def base(self, mounts: Sequence[Mount]) -> Path | None:
        """Return the empty cluster."""
        return mounts[0].source

    def kept_mounts(self, kept: Path, base: Path | None) -> Sequence[Mount]:
        """Return the kept cluster and the empty one that it grew out of."""
        if base is None:
            raise ServiceFailed("the final state of a PostgreSQL server does not name its base")
        return (Mount(kept, KEPT_MOUNT), Mount(base, TEMPLATE_MOUNT))

    async def mounts(
        self, service: PostgresqlService, sandbox: Sandbox, workspace: Workspace, home: Path
    ) -> Sequence[Mount]:
        """Return the mount of a cluster, made now if it is not there.

        Of a small database it is an empty one, shared by all services; a large one has its own, in
        which it is filled already.
        """
        image = sandbox.facts().image
        name = f"postgresql-{_identity(image)}"
        settings: dict[str, Any] = dict.fromkeys(("make", "database", "user", "password"), EMPTY)
        if _is_large(service):
            name = f"{name}-{_content(service)}"
            settings = self.settings(service) | {"make": FILLED}
        template = home.resolve() / _FOLDER / f"{name}.tar"
        if not await asyncio.to_thread(template.is_file):
            async with _alone(template):
                if not await asyncio.to_thread(template.is_file):
                    await self._make(settings, sandbox, workspace, template, image is not None)
        return (Mount(template, TEMPLATE_MOUNT),)

    async def _make(
        self,
        settings: dict[str, Any],
        sandbox: Sandbox,
        workspace: Workspace,
        template: Path,
        in_image: bool,
    ) -> None:
        mounts = (await asyncio.to_thread(_passwd, workspace),) if in_image else ()
        program = await Program.started("postgresql", sandbox, self.program, settings, mounts)
        try:
            await program.answer("ready", _SECONDS)
        except ServiceStopped as error:
            raise ServiceFailed(f"making PostgreSQL's cluster: {error}") from error
        finally:
            await program.close()
        await asyncio.to_thread(_keep, workspace.output, template)


def _is_large(service: PostgresqlService) -> bool:
    return sum(file.size_bytes for file in service.files) >= _LARGE


def _content(service: PostgresqlService) -> str:
    return hashlib.sha256(service.model_copy(update={"name": "any"}).digest().encode()).hexdigest()[
        :16
    ]


@asynccontextmanager
async def _alone(template: Path) -> AsyncIterator[None]:
    """Let one trial at a time in, of all processes: making a large cluster takes long."""
    lock = template.with_suffix(".lock")
    try:
        lock.parent.mkdir(parents=True, exist_ok=True)
        file = lock.open("w")
    except OSError as error:
        raise ServiceFailed(f"cannot make {lock}: {error.strerror}") from error
    with file:
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                await asyncio.sleep(_WAIT_SECONDS)
        yield


def _variables(service: PostgresqlService, port: int, user: str, password: str) -> Variables:
    return (
        ("PGHOST", HOST),
        ("PGPORT", str(port)),
        ("PGDATABASE", service.database),
        ("PGUSER", user),
        ("PGPASSWORD", password),
    )


def _identity(image: str | None) -> str:
    """Return what identifies a server: the image, or the server's own binary."""
    if image is None:
        folder = newest_binaries()
        if folder is None:
            raise ServiceFailed(MISSING)
        status = (folder / "postgres").stat()
        image = f"{folder} {status.st_size} {status.st_mtime_ns}"
    return hashlib.sha256(f"{_MADE_AS} {image}".encode()).hexdigest()[:16]


def _passwd(workspace: Workspace) -> Mount:
    """Return a user list that includes the sandbox's user: initdb needs a name for its user."""
    file = workspace.root / "passwd"
    owner = workspace.output.stat().st_uid
    file.write_text(f"agent:x:{owner}:{owner}:agent:/tmp:/usr/sbin/nologin\n")
    file.chmod(0o644)
    return Mount(file, "/etc/passwd")


def _keep(output: Path, template: Path) -> None:
    """Move the file into place, unless another trial that was doing the same was first.

    States are kept as differences to it, so it must never be replaced.
    """
    try:
        with _made(output) as source:
            template.parent.mkdir(parents=True, exist_ok=True)
            descriptor, name = tempfile.mkstemp(dir=template.parent)
            try:
                with os.fdopen(descriptor, "wb") as target:
                    shutil.copyfileobj(source, target, 1 << 20)
                os.chmod(name, 0o644)
                with suppress(FileExistsError):
                    os.link(name, template)
            finally:
                os.unlink(name)
    except OSError as error:
        raise ServiceFailed(
            f"cannot keep PostgreSQL's empty cluster in {template.parent}: {error.strerror}"
        ) from error


@contextmanager
def _made(output: Path) -> Iterator[BinaryIO]:
    """Yield the packed cluster that a sandbox has written, and remove it afterwards."""
    folder = opened_folder(output)
    try:
        with os.fdopen(opened(TEMPLATE, folder), "rb") as source:
            yield source
        os.unlink(TEMPLATE, dir_fd=folder)
    finally:
        os.close(folder)
