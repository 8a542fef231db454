"""What a task needs around it, and what of that is missing here, with the way to get it."""

import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

from environments.mcp.health import missing_server
from environments.mcp.offer import offered
from environments.mcp.servers import PackagedServer, known_servers
from environments.scripts.needs import DATABASE_LIBRARIES
from environments.services.kinds import service_state
from environments.tool_runtime.states import READY, tool_state
from stages.score.scripts.program_text import Read, imported_packages, programs_of
from taskdata.errors import Misuse
from taskdata.installing import extra_command
from taskdata.schema.base import Value
from taskdata.schema.run import SandboxName
from taskdata.schema.task import Task
from taskdata.schema.tool_backends import ToolBackends

_DISTRIBUTIONS = {"docx": "python-docx", "pptx": "python-pptx", "yaml": "pyyaml"}
_EXTRA, _OF_EXTRA = "pools", {"psycopg2", "PyPDF2"}


class Need(Value):
    """Something that a task needs."""

    kind: Literal["tool", "server", "service", "database", "package"]
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
) -> tuple[Need, ...]:
    """Return everything that the task needs; its programs are read, and nothing is started.

    Args:
        task: The task.
        read: Reads its programs.
        home: Where MCP servers are installed.
        sandbox: The provider that runs tools and programs.
        backends: The configured services of tools.
    """
    offer = offered(task)
    return (
        *(Need(kind="tool", name=n, state=tool_state(n, backends, sandbox)) for n in offer.tools),
        *(
            Need(kind="server", name=n, state=_server(n, task, home, sandbox))
            for n in offer.servers
        ),
        *(
            Need(kind="service", name=s.name, state=service_state(s.kind, sandbox))
            for s in task.services
        ),
        *_of_programs(task, read, sandbox),
    )


def _server(name: str, task: Task, home: Path, sandbox: str) -> str:
    """Return like `server_state`; a server without what the task must bring for it is not ready."""
    state = server_state(name, home, sandbox)
    entry = known_servers(home).get(name)
    if state != READY or not isinstance(entry, PackagedServer):
        return state
    kind = entry.needs.service
    if kind and all(service.kind != kind for service in task.services):
        return f"it works with a {kind} service, and the task brings none"
    is_wanted = task.environment is not None and name in task.environment.servers
    if entry.needs.network and is_wanted and not task.resources.network:
        return "it works with hosts, and the task lists none as resources.network"
    return READY


def server_state(name: str, home: Path, sandbox: str) -> str:
    """Return `ready`, or why the server cannot start as far as that is known without starting it.

    A server that no catalogue has is missing, too.
    """
    try:
        return missing_server(name, home, sandbox) or READY
    except Misuse:
        return f"the catalogue has no MCP server {name!r}: describe it in {home}/mcp/servers.yaml"


def _of_programs(task: Task, read: Read, sandbox: SandboxName) -> Iterator[Need]:
    around = task.environment
    if around is None:
        return
    packages = frozenset[str]()
    for files in (around.preprocess, around.evaluation):
        packages |= imported_packages(programs_of(files, read))
    if packages & DATABASE_LIBRARIES:
        has_one = any(service.kind == "postgresql" for service in task.services)
        missing = "its programs ask a PostgreSQL database, and the task brings none"
        yield Need(kind="database", name="postgresql", state=READY if has_one else missing)
    for name in sorted(packages):
        yield Need(kind="package", name=name, state=_package_state(name, sandbox))


def _package_state(name: str, sandbox: SandboxName) -> str:
    # An image is looked into when a program runs; its causes name what is missing there.
    if sandbox == "docker" or find_spec(name) is not None:
        return READY
    into = f"`uv pip install --python {sys.executable} {_DISTRIBUTIONS.get(name, name)}`"
    way = extra_command(_EXTRA) if name in _OF_EXTRA else into
    return f"the Python package {name!r} is not installed: run {way}"
