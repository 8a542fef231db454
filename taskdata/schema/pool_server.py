"""An MCP server that a pool of tasks brings as source, and how the pool starts it.

The placeholders are those of the Toolathlon format: `${local_servers_paths}`, `${agent_workspace}`,
`${task_dir}/FILE` and `${token.NAME}`; they are filled in when the server starts.
"""

import re
from collections.abc import Callable, Iterable
from typing import Annotated, Literal, Self

from pydantic import Field, StringConstraints, model_validator

from taskdata.schema.base import RelativePath, Value
from taskdata.schema.input_file import InputFile

LOCAL_SERVERS = "${local_servers_paths}"
WORKSPACE = "${agent_workspace}"

_PLACEHOLDER = re.compile(r"\$\{([^{}]*)\}")
_TASK_FILE = re.compile(r"\$\{task_dir\}/([A-Za-z0-9_.\-/]+)")
_OF_TOKEN = "token."  # noqa: S105 - the beginning of a placeholder

Argument = Annotated[str, StringConstraints(max_length=8_000, pattern=r"^[^\x00]*$")]
FolderName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_][A-Za-z0-9._\-]{0,99}$")]
VariableName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]


class PoolServer(Value):
    """A server as its pool describes it; only the tasks with this description use it.

    Therefore, two pools can have different versions of a server, and none replaces the catalogue's.
    """

    name: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9_\-]{0,79}$")]
    """The server's name in the task's list of servers."""
    refused: str = ""
    """Why the pool's own server cannot be used; the catalogue's of that name is used instead."""
    source: InputFile | None = None
    """An archive of the server's folder, in which the paths begin with the folder's name."""
    kind: Literal["python", "node"] = "python"
    folder: FolderName | None = None
    """The server's folder below `${local_servers_paths}`."""
    project: Literal[""] | RelativePath = ""
    """Path below the folder of the project that declares its dependencies; empty: the folder."""
    argv: tuple[Argument, ...] = ()
    """Program and arguments; a program of a Python project is in `.venv/bin` of the project."""
    entry: RelativePath | None = None
    """The file that Node.js starts, below the folder."""
    directory: Argument = WORKSPACE
    """The working directory in which it starts."""
    variables: dict[VariableName, Argument] = Field(default_factory=dict)
    requires_python: str = ""
    """Versions of Python that it runs on, as its pyproject.toml states them."""
    as_of: Annotated[str, StringConstraints(pattern=r"^$|^[0-9TZ:.\-]{10,40}$")] = ""
    """Time whose library versions are used if the pool has no lock; empty: those of the build."""
    uses_database: bool = False
    """Whether it uses the pool's PostgreSQL database."""
    uses_browser: bool = False
    """Whether it controls a browser with Playwright."""

    @model_validator(mode="after")
    def _is_whole(self) -> Self:
        if not self.refused and (self.source is None or self.folder is None or not self.argv):
            raise ValueError(f"server {self.name!r} has neither a source nor a reason against it")
        return self

    @property
    def templates(self) -> tuple[str, ...]:
        """All texts that may hold placeholders."""
        return (*self.argv, self.directory, *self.variables.values())

    @property
    def tokens(self) -> tuple[str, ...]:
        """Names of the tokens that it asks for, sorted."""
        names = placeholders(self.templates)
        return tuple(sorted(n.removeprefix(_OF_TOKEN) for n in names if n.startswith(_OF_TOKEN)))

    @property
    def task_files(self) -> tuple[str, ...]:
        """Files of the task's folder that the server may see if they exist, sorted."""
        return tuple(sorted({path for text in self.templates for path in _TASK_FILE.findall(text)}))


def placeholders(texts: Iterable[str]) -> set[str]:
    """Return the names of all placeholders in the texts."""
    return {name for text in texts for name in _PLACEHOLDER.findall(text)}


def is_known(placeholder: str) -> bool:
    """Return whether the format has such a placeholder."""
    return placeholder in ("local_servers_paths", "agent_workspace", "task_dir") or (
        placeholder.startswith(_OF_TOKEN)
    )


def filled_in(text: str, value_of: Callable[[str], str]) -> str:
    """Return the text with the value of each placeholder in its place.

    Placeholders within the values are not replaced.
    """
    return _PLACEHOLDER.sub(lambda found: value_of(found[1]), text)
