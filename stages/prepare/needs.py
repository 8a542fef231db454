"""What a task needs around it, and what of that is missing here, with the way to get it."""

import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

from environments.mcp.health import missing_server
from environments.mcp.offer import offered
from environments.mcp.pool.installed import missing
from environments.mcp.pool.starting import missing_tokens, pool_servers
from environments.mcp.servers import PackagedServer, known_servers
from environments.sandbox.docker.provider import Docker
from environments.scripts.needs import DATABASE_LIBRARIES
from environments.services.kinds import service_state
from environments.tool_runtime.states import READY, tool_state
from environments.toolkit.services import services_of
from stages.score.scripts.program_text import (
    Read,
    fetched_by,
    imported_packages,
    programs_of,
)
from taskdata.errors import Misuse
from taskdata.installing import extra_command
from taskdata.schema.base import Value
from taskdata.schema.image import TaskImage
from taskdata.schema.run import SandboxName
from taskdata.schema.task import Task
from taskdata.schema.tool_backends import ToolBackends

_DISTRIBUTIONS = {"docx": "python-docx", "pptx": "python-pptx", "yaml": "pyyaml"}
_EXTRA, _OF_EXTRA = "pools", {"psycopg2", "PyPDF2"}


class Need(Value):
    """Something that a task needs."""

    kind: Literal["tool", "server", "service", "database", "package", "image", "network"]
    name: str
    state: str
    """`ready`, or in one line what is missing and how to get it."""

    @property
    def is_met(self) -> bool:
        """Whether it is here."""
        return self.state == READY


def task_needs(
    task: Task,
    read: Read,
    home: Path,
    sandbox: SandboxName,
    backends: ToolBackends,
    bank: str = "BANK",
) -> tuple[Need, ...]:
    """Return everything that the task needs; this reads its programs but starts nothing.

    Args:
        task: The task.
        read: Reads the files of the task's programs.
        home: Folder of this installation's state, where MCP servers are installed.
        sandbox: The provider that runs tools and programs.
        backends: The configured services of tools.
        bank: The task's bank, as commands name it.
    """
    offer, brought = offered(task), services_of(task)
    servers = (
        Need(kind="server", name=name, state=server_state(name, task, home, sandbox, bank))
        for name in offer.servers
    )
    return (
        *(
            Need(kind="tool", name=name, state=tool_state(name, backends, sandbox, brought))
            for name in offer.tools
        ),
        *servers,
        *(
            Need(kind="service", name=s.name, state=service_state(s.kind, sandbox))
            for s in task.services
        ),
        *_of_image(task, read, sandbox),
        *_of_programs(task, read, sandbox),
    )


def server_state(name: str, task: Task, home: Path, sandbox: str, bank: str) -> str:
    """Return `ready`, or a reason that is known in advance why the server cannot start.

    A server of the task's pool comes before one of the catalogue with the same name. A server that
    neither of them has cannot start either.
    """
    own = {server.name: server for server in pool_servers(task)}.get(name)
    if own is not None and not own.refused:
        if unset := missing_tokens(own):
            return f"MCP server {name!r} of the pool needs a token: set {unset[0]}"
        return missing(own, home, sandbox, bank) or READY
    try:
        return missing_server(name, home, sandbox) or _lacking(name, task, home) or READY
    except Misuse:
        reason = f"; the pool's own cannot be used: {own.refused}" if own else ""
        return (
            f"the catalogue has no MCP server {name!r}: describe it in {home}/mcp/servers.yaml"
            f"{reason}"
        )


def _of_database(task: Task, packages: frozenset[str]) -> Iterator[Need]:
    """Yield the need of a database if programs or servers of the task use one."""
    served = any(server.uses_database for server in pool_servers(task))
    if not served and not packages & DATABASE_LIBRARIES:
        return
    has_one = any(service.kind == "postgresql" for service in task.services)
    if served:
        missing_one = (
            "its MCP servers use the pool's PostgreSQL database, and the pool was imported "
            "without its dump: put db/init.sql.gz into the pool and import it again"
        )
    else:
        missing_one = "its programs query a PostgreSQL database, and the task has none"
    yield Need(kind="database", name="postgresql", state=READY if has_one else missing_one)


def _of_image(task: Task, read: Read, sandbox: SandboxName) -> Iterator[Need]:
    """Yield the need of the task's image, and of programs that its verifier would download."""
    if task.image is None or task.environment is None:
        return
    lacking = [] if sandbox == "docker" else [f"it needs --sandbox docker, not {sandbox}"]
    if (state := _image_state(task.image)) != READY:
        lacking.append(state)
    state = "; ".join(lacking) or READY
    yield Need(kind="image", name=task.image.name, state=state)
    scripts = (f for f in task.environment.evaluation if f.path.endswith(".sh"))
    if fetching := fetched_by([read(file.sha256) for file in scripts]):
        named = ", ".join(f"`{command}`" for command in fetching)
        why = f"its verifier runs {named}, and reaches no network: add that to the image"
        yield Need(kind="network", name="verifier", state=why)


def _image_state(image: TaskImage) -> str:
    missing = Docker(image.name).unavailable()
    if missing is None or "has no image" not in missing:
        return missing or READY
    where = ", in the folder that was imported" if image.context else ""
    return f"the Docker engine does not have it: run `{image.way}`{where}"


def _lacking(name: str, task: Task, home: Path) -> str | None:
    """Return what a server of the catalogue needs and the task lacks, None if nothing."""
    entry = known_servers(home)[name]
    if not isinstance(entry, PackagedServer):
        return None
    kind = entry.needs.service
    if kind and all(service.kind != kind for service in task.services):
        return f"it needs a {kind} service, and the task has none"
    is_wanted = task.environment is not None and name in task.environment.servers
    if entry.needs.network and is_wanted and not task.resources.network:
        return "it needs network access, and the task lists no hosts in resources.network"
    return None


def _of_programs(task: Task, read: Read, sandbox: SandboxName) -> Iterator[Need]:
    around = task.environment
    if around is None or task.image is not None:
        return
    packages = frozenset[str]()
    for files in (around.preprocess, around.evaluation):
        packages |= imported_packages(programs_of(files, read))
    yield from _of_database(task, packages)
    for name in sorted(packages):
        yield Need(kind="package", name=name, state=_package_state(name, sandbox))


def _package_state(name: str, sandbox: SandboxName) -> str:
    # An image is looked into when a program runs; its causes name what is missing there.
    if sandbox == "docker" or find_spec(name) is not None:
        return READY
    into = f"`uv pip install --python {sys.executable} {_DISTRIBUTIONS.get(name, name)}`"
    way = extra_command(_EXTRA) if name in _OF_EXTRA else into
    return f"the Python package {name!r} is not installed: run {way}"
